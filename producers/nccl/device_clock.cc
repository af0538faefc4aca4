#include "producers/nccl/device_clock.h"

#include <algorithm>

#include "producers/nccl/atomic_extremum.h"

namespace eroica::nccl {
namespace {

uint64_t Distance(int64_t a, int64_t b) {
  return a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
               : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

}  // namespace

int64_t DeviceClock::Offset() const {
  const int64_t least = std::min(least_.load(std::memory_order_relaxed),
                                 least_previous_.load(std::memory_order_relaxed));
  return least == kNone ? 0 : least;
}

void DeviceClock::StartBucket(int64_t begin_ns, int64_t difference, int64_t now_ns) {
  // One thread turns the page; the others' differences go into the page that they find.
  if (!bucket_begin_ns_.compare_exchange_strong(begin_ns, now_ns, std::memory_order_relaxed))
    return;
  const bool recent = now_ns - begin_ns < 2 * kBucketNs;
  least_previous_.store(recent ? least_.load(std::memory_order_relaxed) : kNone,
                        std::memory_order_relaxed);
  least_.store(difference, std::memory_order_relaxed);
}

bool DeviceClock::Observe(uint64_t timer, int64_t now_ns) {
  if (timer == 0 || timer > uint64_t{INT64_MAX}) return false;
  const auto difference = static_cast<int64_t>(static_cast<uint64_t>(now_ns) - timer);
  const int64_t least = std::min(least_.load(std::memory_order_relaxed),
                                 least_previous_.load(std::memory_order_relaxed));
  if (least != kNone && Distance(difference, least) > kImplausibleNs) {
    if (implausible_.fetch_add(1, std::memory_order_relaxed) + 1 < kMostImplausible) return false;
    Reset();
  }
  implausible_.store(0, std::memory_order_relaxed);
  const int64_t begin_ns = bucket_begin_ns_.load(std::memory_order_relaxed);
  const bool empty = least_.load(std::memory_order_relaxed) == kNone;
  if (empty || now_ns - begin_ns >= kBucketNs) StartBucket(begin_ns, difference, now_ns);
  LowerTo(least_, difference);
  return true;
}

void DeviceClock::Reset() {
  bucket_begin_ns_.store(0, std::memory_order_relaxed);
  least_.store(kNone, std::memory_order_relaxed);
  least_previous_.store(kNone, std::memory_order_relaxed);
  implausible_.store(0, std::memory_order_relaxed);
}

}  // namespace eroica::nccl

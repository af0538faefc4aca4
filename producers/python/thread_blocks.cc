#include "producers/python/thread_blocks.h"

#include <algorithm>
#include <bit>

namespace eroica {
namespace {

constexpr size_t kMostBlocks = 2'048;  // of a stretch
constexpr size_t kFarthest = 3;        // a factor of eight

size_t PowerOf(int64_t length_ns, size_t powers) {
  const auto length = static_cast<uint64_t>(std::max<int64_t>(1, length_ns));
  return std::min<size_t>(powers - 1, static_cast<size_t>(std::bit_width(length)) - 1);
}

}  // namespace

void ThreadBlocks::Switch(const ThreadSwitch& change) {
  sees_ = change.kind != ThreadSwitch::Kind::kLost;
  if (!sees_ || blocks_.size() >= kMostBlocks) is_whole_ = false;
  if (change.kind == ThreadSwitch::Kind::kRuns && is_whole_) Return(change.time_ns);
  blocked_since_ns_.reset();
  preempted_since_ns_.reset();
  if (change.kind == ThreadSwitch::Kind::kBlocked) blocked_since_ns_ = change.time_ns;
  if (change.kind == ThreadSwitch::Kind::kPreempted) preempted_since_ns_ = change.time_ns;
}

void ThreadBlocks::Return(int64_t now_ns) {
  if (blocked_since_ns_ && *blocked_since_ns_ < now_ns)
    blocks_.push_back({.begin_ns = *blocked_since_ns_, .end_ns = now_ns});
  if (preempted_since_ns_) preempted_ns_ += std::max<int64_t>(0, now_ns - *preempted_since_ns_);
}

void ThreadBlocks::End(int64_t end_ns) {
  Return(end_ns);
  if (blocked_since_ns_) blocked_since_ns_ = std::max(*blocked_since_ns_, end_ns);
  if (preempted_since_ns_) preempted_since_ns_ = std::max(*preempted_since_ns_, end_ns);
}

int64_t ThreadBlocks::total_ns() const {
  int64_t total_ns = 0;
  for (const ThreadBlock& block : blocks_) total_ns += block.length_ns();
  return total_ns;
}

void ThreadBlocks::Begin() {
  blocks_.clear();
  preempted_ns_ = 0;
  is_whole_ = sees_;
}

void SeenBlocks::Add(int64_t length_ns, uint32_t function) {
  functions_[PowerOf(length_ns, kLengths)] = function;
}

std::optional<uint32_t> SeenBlocks::MostAlike(int64_t length_ns) const {
  const size_t power = PowerOf(length_ns, kLengths);
  for (size_t distance = 0; distance <= kFarthest; ++distance) {
    if (power + distance < kLengths && functions_[power + distance])
      return functions_[power + distance];
    if (power >= distance && functions_[power - distance]) return functions_[power - distance];
  }
  return std::nullopt;
}

}  // namespace eroica

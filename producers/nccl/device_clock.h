// The device's timer in time of the host. NCCL hands over what the device's nanosecond timer said
// when a kernel channel began and ended, some while after: the host's time of the call minus the
// timer is the offset between the clocks plus how late the call was. The least of these differences
// over the last seconds is the offset; seconds, because one offset kept for ever drifts by 10 to
// 100 ppm.
//
// One a communicator; any thread, without locks. Calls at the same moment may see an offset that is
// one observation old, which is as good.
#pragma once

#include <atomic>
#include <cstdint>

namespace eroica::nccl {

class DeviceClock {
 public:
  // Half of the horizon over which the least difference counts.
  static constexpr int64_t kBucketNs = 2'000'000'000;
  // A timer so far from where the offset expects it is no time: not used, until this many in a row
  // agree that the device's timer has been set.
  static constexpr int64_t kImplausibleNs = 10'000'000'000;
  static constexpr uint32_t kMostImplausible = 16;

  // The host sees `timer` at now_ns. False: the timer says no time (0, negative, nowhere near).
  bool Observe(uint64_t timer, int64_t now_ns);
  // Of a timer that Observe accepted.
  int64_t ToHost(uint64_t timer) const {
    return static_cast<int64_t>(timer + static_cast<uint64_t>(Offset()));
  }
  // As made: for a new communicator in an old slot.
  void Reset();

 private:
  static constexpr int64_t kNone = INT64_MAX;

  int64_t Offset() const;
  void StartBucket(int64_t begin_ns, int64_t difference, int64_t now_ns);

  std::atomic<int64_t> bucket_begin_ns_{0};
  std::atomic<int64_t> least_{kNone};           // of the bucket that is filled
  std::atomic<int64_t> least_previous_{kNone};  // of the one before
  std::atomic<uint32_t> implausible_{0};        // in a row
};

}  // namespace eroica::nccl

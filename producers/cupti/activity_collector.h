// From completed buffers to eroica_interval: kernels and memory operations on the lanes of their
// device streams, host calls that waited for the device on one host lane (CUPTI does not say which
// thread waited). Owner and thread: the capture's thread. Times: CUPTI's, which are CLOCK_REALTIME,
// become the core's. What cannot be used is counted; what was an event is reported to the core as
// lost (ReportLosses). After the first records of a kernel, stream or kind of copy, nothing is
// allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "producers/cupti/activity_names.h"
#include "producers/cupti/activity_record.h"
#include "producers/cupti/cupti_api.h"
#include "producers/cupti/kernel_functions.h"

namespace eroica {

class ActivityCollector {
 public:
  struct Counts {
    uint64_t records = 0;         // read, of whatever kind: the sum of all that follow
    uint64_t intervals = 0;       // given to the core
    uint64_t left_to_plugin = 0;  // NCCL kernels, where the NCCL plugin sees the operations
    uint64_t other_kinds = 0;     // not asked for by us
    uint64_t no_waits = 0;        // synchronization that did not block, see kShortestWaitNs
    uint64_t without_times = 0;   // start = end = 0, or before the clock's beginning
    uint64_t negative = 0;        // ends before it starts
    uint64_t too_short = 0;       // record cut off
  };
  // A query of an event that has ended is a synchronization record, too, and frameworks poll: what
  // took less than this waited for nothing.
  static constexpr int64_t kShortestWaitNs = 10'000;
  static constexpr size_t kMaxLanes = 1'024;  // the core has 255; further streams share the last

  // nccl_plugin_attached: asked at most once a buffer, and no more once it said so.
  ActivityCollector(CuptiApi& api, std::function<bool()> nccl_plugin_attached);

  void Collect(uint8_t* buffer, size_t valid_bytes);
  // What was lost since the last call; dropped: records that CUPTI or the pool had to drop.
  void ReportLosses(uint64_t dropped);

  const Counts& counts() const { return counts_; }

 private:
  static constexpr uint32_t kNotYet = UINT32_MAX;

  void CollectOne(const uint8_t* record, size_t bytes);
  void TakeKernel(const ActivityRecord& record);
  void TakeWait(const ActivityRecord& record);
  uint32_t MemcpyFunction(const ActivityRecord& record);
  uint32_t MemsetFunction(const ActivityRecord& record);
  uint8_t LaneOf(const ActivityRecord& record);
  void Emit(const ActivityRecord& record, uint32_t function, uint8_t lane);

  CuptiApi& api_;
  const std::function<bool()> nccl_plugin_attached_;
  bool plugin_attached_ = false;
  bool asked_for_plugin_ = false;  // for this buffer
  KernelFunctions kernels_;
  std::array<uint32_t, size_t{kCopyKinds} * kMemoryKinds * kMemoryKinds> memcpys_;
  std::array<uint32_t, kMemoryKinds> memsets_;
  std::array<uint32_t, 5> waits_;
  std::unordered_map<uint64_t, uint8_t> lanes_;
  uint64_t last_stream_ = UINT64_MAX;
  uint8_t last_lane_ = 0;
  int wait_lane_ = -1;
  Counts counts_;
  Counts reported_;
};

}  // namespace eroica

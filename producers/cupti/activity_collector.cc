#include "producers/cupti/activity_collector.h"

#include <algorithm>
#include <string>
#include <utility>

#include "producers/core/producer_core.h"
#include "schemas/drop_reason.h"

namespace eroica {
namespace {

void ReportLoss(DropReason reason, uint64_t count) {
  if (count > 0) eroica_lost(EROICA_LOST_INTERVAL, static_cast<uint8_t>(reason), count);
}

}  // namespace

ActivityCollector::ActivityCollector(CuptiApi& api, std::function<bool()> nccl_plugin_attached)
    : api_(api), nccl_plugin_attached_(std::move(nccl_plugin_attached)) {
  memcpys_.fill(kNotYet);
  memsets_.fill(kNotYet);
  waits_.fill(kNotYet);
}

// A record does not say how long it is: it ends where the next one begins.
void ActivityCollector::Collect(uint8_t* buffer, size_t valid_bytes) {
  if (buffer == nullptr || valid_bytes == 0) return;
  asked_for_plugin_ = false;
  const uint8_t* const end = buffer + valid_bytes;
  uint8_t* next = nullptr;
  const uint8_t* record = nullptr;
  while (api_.NextRecord(buffer, valid_bytes, &next) == kCuptiSuccess) {
    // Whatever a library answers, we read forwards and inside the buffer only.
    if (next < buffer || next >= end || (record != nullptr && next <= record)) break;
    if (record != nullptr) CollectOne(record, static_cast<size_t>(next - record));
    record = next;
  }
  if (record != nullptr) CollectOne(record, static_cast<size_t>(end - record));
}

void ActivityCollector::CollectOne(const uint8_t* bytes, size_t size) {
  ++counts_.records;
  ActivityRecord record;
  switch (ReadActivityRecord(bytes, size, &record)) {
    case RecordReading::kOtherKind: ++counts_.other_kinds; return;
    case RecordReading::kTooShort: ++counts_.too_short; return;
    case RecordReading::kRead: break;
  }
  if (record.kind == ActivityKind::kSynchronization &&
      WaitName(record.synchronization) == nullptr) {
    ++counts_.no_waits;
    return;
  }
  if (record.start_ns <= 0) {
    ++counts_.without_times;
    return;
  }
  if (record.end_ns < record.start_ns) {
    ++counts_.negative;
    return;
  }
  switch (record.kind) {
    case ActivityKind::kConcurrentKernel: TakeKernel(record); return;
    case ActivityKind::kMemcpy:
    case ActivityKind::kPeerMemcpy: Emit(record, MemcpyFunction(record), LaneOf(record)); return;
    case ActivityKind::kMemset: Emit(record, MemsetFunction(record), LaneOf(record)); return;
    case ActivityKind::kSynchronization: TakeWait(record); return;
  }
}

void ActivityCollector::TakeKernel(const ActivityRecord& record) {
  const KernelFunction kernel = kernels_.Find(record.kernel_symbol);
  if (kernel.collective && !plugin_attached_ && !asked_for_plugin_) {
    plugin_attached_ = nccl_plugin_attached_();
    asked_for_plugin_ = true;
  }
  if (kernel.collective && plugin_attached_) {
    ++counts_.left_to_plugin;
    return;
  }
  Emit(record, kernel.function, LaneOf(record));
}

void ActivityCollector::TakeWait(const ActivityRecord& record) {
  if (record.end_ns - record.start_ns < kShortestWaitNs) {
    ++counts_.no_waits;
    return;
  }
  // Ranks meet on the device: who waits for it waits for its collectives, and so for its peers.
  uint32_t& function = waits_[static_cast<size_t>(record.synchronization)];
  if (function == kNotYet) {
    function = eroica_function(WaitName(record.synchronization), EROICA_CPU_OP, EROICA_WAIT_PEER,
                               EROICA_NO_PARENT);
  }
  if (wait_lane_ < 0) wait_lane_ = eroica_lane("host waits for the device", EROICA_HOST_THREAD);
  Emit(record, function, static_cast<uint8_t>(wait_lane_));
}

uint32_t ActivityCollector::MemcpyFunction(const ActivityRecord& record) {
  const uint8_t copy = std::min<uint8_t>(record.copy_kind, kCopyKinds - 1);
  const uint16_t source = std::min<uint16_t>(record.source_memory, kMemoryKinds - 1);
  const uint16_t target = std::min<uint16_t>(record.target_memory, kMemoryKinds - 1);
  uint32_t& function = memcpys_[(copy * size_t{kMemoryKinds} + source) * kMemoryKinds + target];
  if (function == kNotYet) {
    function = eroica_function(MemcpyName(copy, source, target).c_str(), EROICA_MEMORY_OP,
                               EROICA_WAIT_NONE, EROICA_NO_PARENT);
  }
  return function;
}

uint32_t ActivityCollector::MemsetFunction(const ActivityRecord& record) {
  const uint16_t memory = std::min<uint16_t>(record.target_memory, kMemoryKinds - 1);
  uint32_t& function = memsets_[memory];
  if (function == kNotYet) {
    function = eroica_function(MemsetName(memory).c_str(), EROICA_MEMORY_OP, EROICA_WAIT_NONE,
                               EROICA_NO_PARENT);
  }
  return function;
}

uint8_t ActivityCollector::LaneOf(const ActivityRecord& record) {
  const uint64_t stream = (uint64_t{record.device} << 32) | record.stream;
  if (stream == last_stream_) return last_lane_;
  const auto known = lanes_.find(stream);
  if (known != lanes_.end()) {
    last_lane_ = known->second;
  } else {
    const std::string name =
        "stream " + std::to_string(record.stream) + " of device " + std::to_string(record.device);
    last_lane_ = eroica_lane(name.c_str(), EROICA_DEVICE_STREAM);
    // A job that makes streams without end has no room for them anywhere; what is known is kept.
    if (lanes_.size() < kMaxLanes) lanes_.emplace(stream, last_lane_);
  }
  last_stream_ = stream;
  return last_lane_;
}

void ActivityCollector::Emit(const ActivityRecord& record, uint32_t function, uint8_t lane) {
  // Converted once: a duration does not change when clocks are compared anew in between.
  const int64_t start = eroica_from_realtime_ns(record.start_ns);
  eroica_interval(start, start + (record.end_ns - record.start_ns), function, lane);
  ++counts_.intervals;
}

void ActivityCollector::ReportLosses(uint64_t dropped) {
  ReportLoss(DropReason::kQueueFull, dropped);
  ReportLoss(DropReason::kTimeOutOfRange, counts_.without_times - reported_.without_times);
  ReportLoss(DropReason::kNegativeDuration, counts_.negative - reported_.negative);
  ReportLoss(DropReason::kTooShort, counts_.too_short - reported_.too_short);
  reported_ = counts_;
}

}  // namespace eroica

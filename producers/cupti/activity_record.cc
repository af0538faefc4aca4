#include "producers/cupti/activity_record.h"

#include <cstring>

namespace eroica {
namespace {

template <typename Value>
Value At(const uint8_t* record, size_t offset) {
  Value value;
  std::memcpy(&value, record + offset, sizeof(value));
  return value;
}

template <typename Layout>
void ReadTimes(const uint8_t* record, ActivityRecord* read) {
  read->start_ns = At<int64_t>(record, Layout::kStart);
  read->end_ns = At<int64_t>(record, Layout::kEnd);
}

template <typename Layout>
void ReadPlace(const uint8_t* record, ActivityRecord* read) {
  ReadTimes<Layout>(record, read);
  read->device = At<uint32_t>(record, Layout::kDevice);
  read->stream = At<uint32_t>(record, Layout::kStream);
}

}  // namespace

RecordReading ReadActivityRecord(const uint8_t* record, size_t bytes, ActivityRecord* read) {
  using namespace activity_layout;
  if (bytes < sizeof(uint32_t)) return RecordReading::kTooShort;
  read->kind = static_cast<ActivityKind>(At<uint32_t>(record, 0));
  switch (read->kind) {
    case ActivityKind::kConcurrentKernel:
      if (bytes < KernelFields::kPrefix) return RecordReading::kTooShort;
      ReadPlace<KernelFields>(record, read);
      read->kernel_symbol = At<const char*>(record, KernelFields::kName);
      return RecordReading::kRead;
    case ActivityKind::kMemcpy:
    case ActivityKind::kPeerMemcpy:
      if (bytes < MemcpyFields::kPrefix) return RecordReading::kTooShort;
      ReadPlace<MemcpyFields>(record, read);
      read->copy_kind = At<uint8_t>(record, MemcpyFields::kCopyKind);
      read->source_memory = At<uint8_t>(record, MemcpyFields::kSourceKind);
      read->target_memory = At<uint8_t>(record, MemcpyFields::kTargetKind);
      return RecordReading::kRead;
    case ActivityKind::kMemset:
      if (bytes < MemsetFields::kPrefix) return RecordReading::kTooShort;
      ReadPlace<MemsetFields>(record, read);
      read->target_memory = At<uint16_t>(record, MemsetFields::kMemoryKind);
      return RecordReading::kRead;
    case ActivityKind::kSynchronization:
      if (bytes < SynchronizationFields::kPrefix) return RecordReading::kTooShort;
      ReadTimes<SynchronizationFields>(record, read);
      read->synchronization = At<SynchronizationType>(record, SynchronizationFields::kType);
      return RecordReading::kRead;
  }
  return RecordReading::kOtherKind;
}

}  // namespace eroica

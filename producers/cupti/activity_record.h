// CUPTI's activity records as bytes, and what we read of them. CUPTI appends to a record from
// version to version and never moves what is there (since CUDA 7), so one prefix a kind reads all
// of them; real_cupti_api.cc holds the offsets against the headers that it is built with. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "producers/cupti/cupti_api.h"

namespace eroica {

// Where the fields that we read lie, in bytes from the record's start, and how long a record must
// be for them to be there.
namespace activity_layout {
struct KernelFields {
  static constexpr size_t kStart = 16, kEnd = 24, kDevice = 40, kStream = 48, kName = 104;
  static constexpr size_t kPrefix = 112;
};
struct MemcpyFields {  // between devices, too
  static constexpr size_t kCopyKind = 4, kSourceKind = 5, kTargetKind = 6;
  static constexpr size_t kStart = 16, kEnd = 24, kDevice = 32, kStream = 40;
  static constexpr size_t kPrefix = 44;
};
struct MemsetFields {
  static constexpr size_t kStart = 16, kEnd = 24, kDevice = 32, kStream = 40, kMemoryKind = 50;
  static constexpr size_t kPrefix = 52;
};
struct SynchronizationFields {
  static constexpr size_t kType = 4, kStart = 8, kEnd = 16;
  static constexpr size_t kPrefix = 24;
};
}  // namespace activity_layout

// CUpti_ActivitySynchronizationType.
enum class SynchronizationType : uint32_t {
  kUnknown = 0,
  kEventSynchronize = 1,
  kStreamWaitEvent = 2,
  kStreamSynchronize = 3,
  kContextSynchronize = 4,
};

struct ActivityRecord {
  ActivityKind kind = ActivityKind::kConcurrentKernel;
  int64_t start_ns = 0;  // by CUPTI's clock; start = end = 0: CUPTI has no times
  int64_t end_ns = 0;
  uint32_t device = 0;
  uint32_t stream = 0;
  const char* kernel_symbol = nullptr;  // mangled, CUPTI's memory
  uint8_t copy_kind = 0;
  uint8_t source_memory = 0;
  uint16_t target_memory = 0;  // of a memset: what is set
  SynchronizationType synchronization = SynchronizationType::kUnknown;
};

enum class RecordReading : uint8_t {
  kRead,
  kOtherKind,  // none that we asked for: another client did, or a newer CUPTI
  kTooShort,   // cut off, or of a CUPTI older than any that we know
};

// bytes: up to the next record, or to the end of what is valid in the buffer.
RecordReading ReadActivityRecord(const uint8_t* record, size_t bytes, ActivityRecord* read);

}  // namespace eroica

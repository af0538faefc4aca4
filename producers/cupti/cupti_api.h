// The part of CUPTI that we use, as an interface: real_cupti_api.cc answers from libcupti, the fake
// in testing/ as libcupti would. Nothing here needs CUPTI's headers. Results are CUPTI's own
// numbers (CUptiResult), and kNoSuchFunction where the loaded library lacks a function. Nothing
// throws. Every call but RegisterCallbacks, Enable and FlushAll returns at once; those may take
// CUPTI's locks, so the caller holds none of its own (a completed buffer comes back inside
// FlushAll, on the same thread).
#pragma once

#include <cstddef>
#include <cstdint>

namespace eroica {

// CUpti_ActivityKind: what we take. MEMCPY2 are the copies between devices.
enum class ActivityKind : uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kConcurrentKernel = 10,
  kPeerMemcpy = 22,
  kSynchronization = 38,
};

inline constexpr int kCuptiSuccess = 0;
inline constexpr int kCuptiNoMoreRecords = 12;  // CUPTI_ERROR_MAX_LIMIT_REACHED
inline constexpr int kCuptiNotCompatible = 14;  // another client uses the calls per subscriber
inline constexpr int kCuptiMultipleSubscribers = 39;
inline constexpr int kCuptiUnknownError = 999;  // what every call says where there is no GPU
inline constexpr int kCuptiNoSuchFunction = -1;

// Whether a result says that torch.profiler, nsys, ncu or a debugger has CUPTI.
constexpr bool IsHeldByAnotherClient(int result) {
  return result == kCuptiNotCompatible || result == kCuptiMultipleSubscribers;
}

class CuptiApi {
 public:
  // On whatever thread CUPTI likes: one of its own, the one that flushes, one of the application.
  using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* max_records);
  using BufferCompleted = void (*)(uint8_t* buffer, size_t bytes, size_t valid_bytes);

  virtual ~CuptiApi() = default;

  // As cuptiGetVersion: 27 for CUDA 12.9, 130001 for CUDA 13.0; 0 where it does not say.
  virtual uint32_t Version() = 0;
  // For the whole process: who registers later replaces who did before.
  virtual int RegisterCallbacks(BufferRequested requested, BufferCompleted completed) = 0;
  virtual int Enable(ActivityKind kind) = 0;
  virtual int Disable(ActivityKind kind) = 0;
  // *record: nullptr for the first one, then the last one.
  virtual int NextRecord(uint8_t* buffer, size_t valid_bytes, uint8_t** record) = 0;
  // forced: buffers come back although records in them have not ended.
  virtual int FlushAll(bool forced) = 0;
  // Since the last call.
  virtual int DroppedRecords(size_t* count) = 0;
  // Now, by the clock that stamps the records.
  virtual int Timestamp(int64_t* time_ns) = 0;
  // Makes CLOCK_REALTIME stamp the records again, where another client set a clock of its own.
  virtual int RestoreClock() = 0;
  // Subscribes and at once lets go: says whether another client has CUPTI.
  virtual int ProbeSubscriber() = 0;
  // Whether queries that find the work unfinished leave synchronization records, as they do at
  // first. Like the clock it holds for the next client, too.
  virtual int RecordUnfinishedQueries(bool record) = 0;
};

}  // namespace eroica

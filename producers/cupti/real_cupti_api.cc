#include "producers/cupti/real_cupti_api.h"

#include <cupti.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <ctime>

#include "producers/cupti/activity_record.h"

namespace eroica {
namespace {

// What activity_record.h says of CUPTI's records, held against the headers at hand. The newest
// structs of these headers are named in CMake: a name a version.
#define EROICA_SAME(type, field, offset) static_assert(offsetof(type, field) == (offset))
using KernelRecord = EROICA_CUPTI_KERNEL;
using MemcpyRecord = EROICA_CUPTI_MEMCPY;
using PeerMemcpyRecord = EROICA_CUPTI_PEER_MEMCPY;
using MemsetRecord = EROICA_CUPTI_MEMSET;
using WaitRecord = EROICA_CUPTI_SYNCHRONIZATION;
EROICA_SAME(KernelRecord, start, activity_layout::KernelFields::kStart);
EROICA_SAME(KernelRecord, end, activity_layout::KernelFields::kEnd);
EROICA_SAME(KernelRecord, deviceId, activity_layout::KernelFields::kDevice);
EROICA_SAME(KernelRecord, streamId, activity_layout::KernelFields::kStream);
EROICA_SAME(KernelRecord, name, activity_layout::KernelFields::kName);
EROICA_SAME(MemcpyRecord, copyKind, activity_layout::MemcpyFields::kCopyKind);
EROICA_SAME(MemcpyRecord, srcKind, activity_layout::MemcpyFields::kSourceKind);
EROICA_SAME(MemcpyRecord, dstKind, activity_layout::MemcpyFields::kTargetKind);
EROICA_SAME(MemcpyRecord, start, activity_layout::MemcpyFields::kStart);
EROICA_SAME(MemcpyRecord, end, activity_layout::MemcpyFields::kEnd);
EROICA_SAME(MemcpyRecord, deviceId, activity_layout::MemcpyFields::kDevice);
EROICA_SAME(MemcpyRecord, streamId, activity_layout::MemcpyFields::kStream);
EROICA_SAME(PeerMemcpyRecord, copyKind, activity_layout::MemcpyFields::kCopyKind);
EROICA_SAME(PeerMemcpyRecord, dstKind, activity_layout::MemcpyFields::kTargetKind);
EROICA_SAME(PeerMemcpyRecord, start, activity_layout::MemcpyFields::kStart);
EROICA_SAME(PeerMemcpyRecord, end, activity_layout::MemcpyFields::kEnd);
EROICA_SAME(PeerMemcpyRecord, streamId, activity_layout::MemcpyFields::kStream);
EROICA_SAME(MemsetRecord, start, activity_layout::MemsetFields::kStart);
EROICA_SAME(MemsetRecord, end, activity_layout::MemsetFields::kEnd);
EROICA_SAME(MemsetRecord, deviceId, activity_layout::MemsetFields::kDevice);
EROICA_SAME(MemsetRecord, streamId, activity_layout::MemsetFields::kStream);
EROICA_SAME(MemsetRecord, memoryKind, activity_layout::MemsetFields::kMemoryKind);
EROICA_SAME(WaitRecord, type, activity_layout::SynchronizationFields::kType);
EROICA_SAME(WaitRecord, start, activity_layout::SynchronizationFields::kStart);
EROICA_SAME(WaitRecord, end, activity_layout::SynchronizationFields::kEnd);
#undef EROICA_SAME
static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == 10 && CUPTI_ACTIVITY_KIND_MEMCPY == 1 &&
              CUPTI_ACTIVITY_KIND_MEMSET == 2 && CUPTI_ACTIVITY_KIND_MEMCPY2 == 22 &&
              CUPTI_ACTIVITY_KIND_SYNCHRONIZATION == 38);
static_assert(CUPTI_SUCCESS == kCuptiSuccess &&
              CUPTI_ERROR_MAX_LIMIT_REACHED == kCuptiNoMoreRecords &&
              CUPTI_ERROR_NOT_COMPATIBLE == kCuptiNotCompatible &&
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == kCuptiMultipleSubscribers &&
              CUPTI_ERROR_UNKNOWN == kCuptiUnknownError);

// CUPTI's callbacks carry no context, and ours leave out what CUPTI no longer uses.
std::atomic<CuptiApi::BufferRequested> buffer_requested{nullptr};
std::atomic<CuptiApi::BufferCompleted> buffer_completed{nullptr};

void CUPTIAPI OnRequest(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  buffer_requested.load(std::memory_order_acquire)(buffer, bytes, max_records);
}
void CUPTIAPI OnComplete(CUcontext, uint32_t, uint8_t* buffer, size_t bytes, size_t valid_bytes) {
  buffer_completed.load(std::memory_order_acquire)(buffer, bytes, valid_bytes);
}
void CUPTIAPI OnNothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

uint64_t CUPTIAPI RealtimeNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

// Absent where this libcupti lacks it. By name: what the headers call differently is not asked for.
template <typename Function>
struct Symbol {
  Function* function = nullptr;
  Symbol(void* library, const char* name)
      : function(reinterpret_cast<Function*>(dlsym(library, name))) {}
  template <typename... Arguments>
  int operator()(Arguments... arguments) const {
    return function == nullptr ? kCuptiNoSuchFunction : static_cast<int>(function(arguments...));
  }
};
#define EROICA_SYMBOL(member, name) \
  Symbol<decltype(name)> member { library_, #name }

class RealCuptiApi : public CuptiApi {
 public:
  explicit RealCuptiApi(void* library) : library_(library) {}

  uint32_t Version() override {
    uint32_t version = 0;
    return get_version_(&version) == kCuptiSuccess ? version : 0;
  }
  int RegisterCallbacks(BufferRequested requested, BufferCompleted completed) override {
    buffer_requested.store(requested, std::memory_order_release);
    buffer_completed.store(completed, std::memory_order_release);
    return register_callbacks_(&OnRequest, &OnComplete);
  }
  int Enable(ActivityKind kind) override { return enable_(static_cast<CUpti_ActivityKind>(kind)); }
  int Disable(ActivityKind kind) override {
    return disable_(static_cast<CUpti_ActivityKind>(kind));
  }
  int NextRecord(uint8_t* buffer, size_t valid_bytes, uint8_t** record) override {
    auto* next = reinterpret_cast<CUpti_Activity*>(*record);
    const int result = next_record_(buffer, valid_bytes, &next);
    *record = reinterpret_cast<uint8_t*>(next);
    return result;
  }
  int FlushAll(bool forced) override {
    return flush_all_(static_cast<uint32_t>(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0));
  }
  int DroppedRecords(size_t* count) override {
    return dropped_records_(static_cast<CUcontext>(nullptr), uint32_t{0}, count);
  }
  int Timestamp(int64_t* time_ns) override {
    uint64_t time = 0;
    const int result = timestamp_(&time);
    *time_ns = static_cast<int64_t>(time);
    return result;
  }
  int RestoreClock() override { return set_clock_(&RealtimeNs); }
  int ProbeSubscriber() override {
    CUpti_SubscriberHandle subscriber{};
    const int result = subscribe_(&subscriber, &OnNothing, static_cast<void*>(nullptr));
    if (result == kCuptiSuccess) unsubscribe_(subscriber);
    return result;
  }
  int RecordUnfinishedQueries(bool record) override {
    return all_sync_records_(static_cast<uint8_t>(record));
  }

 private:
  void* const library_;
  EROICA_SYMBOL(get_version_, cuptiGetVersion);
  EROICA_SYMBOL(register_callbacks_, cuptiActivityRegisterCallbacks);
  EROICA_SYMBOL(enable_, cuptiActivityEnable);
  EROICA_SYMBOL(disable_, cuptiActivityDisable);
  EROICA_SYMBOL(next_record_, cuptiActivityGetNextRecord);
  EROICA_SYMBOL(flush_all_, cuptiActivityFlushAll);
  EROICA_SYMBOL(dropped_records_, cuptiActivityGetNumDroppedRecords);
  EROICA_SYMBOL(timestamp_, cuptiGetTimestamp);
  EROICA_SYMBOL(subscribe_, cuptiSubscribe);
  EROICA_SYMBOL(unsubscribe_, cuptiUnsubscribe);
  // Newer than the oldest headers that we build with: their types are spelt out.
  Symbol<CUptiResult CUPTIAPI(uint64_t(CUPTIAPI*)())> set_clock_{
      library_, "cuptiActivityRegisterTimestampCallback"};
  Symbol<CUptiResult CUPTIAPI(uint8_t)> all_sync_records_{library_,
                                                          "cuptiActivityEnableAllSyncRecords"};
};
#undef EROICA_SYMBOL

constexpr std::array<const char*, 6> kNames = {"libcupti.so.13",   "libcupti.so.12",
                                               "libcupti.so.11.8", "libcupti.so.11.7",
                                               "libcupti.so.11.6", "libcupti.so"};

void* OpenLibrary() {
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  if (const char* named = std::getenv("EROICA_CUPTI_LIBRARY"); named != nullptr && *named != '\0') {
    return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  }
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* home = std::getenv(variable);
    if (home == nullptr || *home == '\0') continue;
    for (const char* folder : {"/extras/CUPTI/lib64/libcupti.so", "/lib64/libcupti.so"}) {
      const std::string path = std::string(home) + folder;
      if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<CuptiApi> LoadCuptiApi(std::string* why) {
  void* library = OpenLibrary();
  if (library == nullptr) {
    *why = "libcupti was not found (EROICA_CUPTI_LIBRARY names it)";
    return nullptr;
  }
  return std::make_unique<RealCuptiApi>(library);
}

}  // namespace eroica

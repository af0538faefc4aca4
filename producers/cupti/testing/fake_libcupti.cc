// The fake as a shared library with CUPTI's C functions, as far as we call them: what
// real_cupti_api.cc loads in tests in place of NVIDIA's. fake_libcupti_* are for the host program
// of the tests.
#include <cstddef>
#include <cstdint>

#include "producers/cupti/testing/fake_cupti_api.h"

namespace {

using eroica::ActivityKind;

// Never destroyed: the process asks until it is gone.
eroica::FakeCuptiApi& Fake() {
  static auto* fake = new eroica::FakeCuptiApi(eroica::FakeCuptiApi::Cuda135(), 130'500);
  return *fake;
}

using Requested = void (*)(uint8_t**, size_t*, size_t*);
using Completed = void (*)(void*, uint32_t, uint8_t*, size_t, size_t);
Completed completed_callback = nullptr;

}  // namespace

extern "C" {

int cuptiGetVersion(uint32_t* version) {
  *version = Fake().Version();
  return eroica::kCuptiSuccess;
}
int cuptiActivityRegisterCallbacks(Requested requested, Completed completed) {
  completed_callback = completed;
  return Fake().RegisterCallbacks(requested, [](uint8_t* buffer, size_t bytes, size_t valid) {
    completed_callback(nullptr, 0, buffer, bytes, valid);
  });
}
int cuptiActivityEnable(uint32_t kind) { return Fake().Enable(static_cast<ActivityKind>(kind)); }
int cuptiActivityDisable(uint32_t kind) { return Fake().Disable(static_cast<ActivityKind>(kind)); }
int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, uint8_t** record) {
  return Fake().NextRecord(buffer, valid_bytes, record);
}
int cuptiActivityFlushAll(uint32_t flag) { return Fake().FlushAll(flag != 0); }
int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  return Fake().DroppedRecords(dropped);
}
int cuptiGetTimestamp(uint64_t* time_ns) {
  int64_t stamp = 0;
  const int result = Fake().Timestamp(&stamp);
  *time_ns = static_cast<uint64_t>(stamp);
  return result;
}
int cuptiSubscribe(void** subscriber, void*, void*) {
  *subscriber = &Fake();
  return Fake().ProbeSubscriber();
}
int cuptiUnsubscribe(void* subscriber) { return subscriber == &Fake() ? 0 : 1; }
// cuptiActivityRegisterTimestampCallback and cuptiActivityEnableAllSyncRecords are missing, as in
// old versions.

void fake_libcupti_kernel(const char* symbol, int64_t start_ns, int64_t end_ns) {
  Fake().Kernel(symbol, start_ns, end_ns);
}
int fake_libcupti_forced_flushes() { return Fake().forced_flushes(); }
int fake_libcupti_flushes() { return Fake().flushes(); }
int fake_libcupti_enabled() { return static_cast<int>(Fake().enabled().size()); }
int fake_libcupti_probes() { return Fake().probes(); }

}  // extern "C"

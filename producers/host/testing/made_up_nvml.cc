// A library with the names of NVML's, for tests: one device, whose answers are set by variables of
// the environment, so that what is loaded at run time is really loaded at run time.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

int g_device = 0;

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

struct ProcessUse {
  unsigned process;
  unsigned long long time_us;
  unsigned sm_percent;
  unsigned memory_percent;
  unsigned encoder_percent;
  unsigned decoder_percent;
};

constexpr int kUnknownDevice = 2;
constexpr int kNotFound = 6;

}  // namespace

extern "C" {

int nvmlInit_v2() { return static_cast<int>(Setting("MADE_UP_NVML_INIT", 0)); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &g_device;
  return index == 1 ? 0 : kUnknownDevice;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &g_device;
  return std::strcmp(uuid, "GPU-7") == 0 ? 0 : kUnknownDevice;
}
int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) {
  *mhz = 1'200;
  return type == 1 ? 0 : kUnknownDevice;
}
int nvmlDeviceGetMaxClockInfo(void*, unsigned type, unsigned* mhz) {
  *mhz = 1'600;
  return type == 1 ? 0 : kUnknownDevice;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = Setting("MADE_UP_NVML_REASONS", 0);
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void*, unsigned type, unsigned, unsigned long long* errors) {
  *errors = Setting("MADE_UP_NVML_ERRORS", 0);
  return type <= 1 ? 0 : kUnknownDevice;
}
int nvmlDeviceGetProcessUtilization(void*, ProcessUse* rows, unsigned* count, unsigned long long) {
  const uint64_t own = Setting("MADE_UP_NVML_PROCESS", 0);
  if (own == 0) return kNotFound;
  rows[0] = {static_cast<unsigned>(own), 10, 50, 0, 0, 0};
  rows[1] = {77, 9, 90, 0, 0, 0};  // older than the next
  rows[2] = {77, 11, 30, 0, 0, 0};
  *count = static_cast<unsigned>(Setting("MADE_UP_NVML_ROWS", 3));
  return 0;
}

}  // extern "C"

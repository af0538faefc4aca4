#include <dlfcn.h>

#include <array>
#include <span>
#include <string_view>

#include "producers/host/gpu_device.h"
#include "producers/host/kernel_text.h"

namespace eroica {
namespace {

// Of nvml.h, what is used; the ABI is stable by NVIDIA's promise, the versions are in the names.
using NvmlHandle = void*;
using NvmlResult = int;
constexpr NvmlResult kSuccess = 0;
constexpr unsigned kSmClock = 1;
// hardware slowdown, heat (software, hardware), power brake
constexpr uint64_t kHeatOrPower = 0x8 | 0x20 | 0x40 | 0x80;
constexpr unsigned kCorrected = 0;
constexpr unsigned kUncorrected = 1;
constexpr unsigned kSinceDriver = 0;
struct NvmlProcessUse {
  unsigned process;
  unsigned long long time_us;
  unsigned sm_percent;
  unsigned memory_percent;
  unsigned encoder_percent;
  unsigned decoder_percent;
};

constexpr size_t kMostProcesses = 64;
constexpr uint64_t kLatelyUs = 2'000'000;

struct NvmlCalls {
  NvmlResult (*init)() = nullptr;
  NvmlResult (*by_index)(unsigned, NvmlHandle*) = nullptr;
  NvmlResult (*by_uuid)(const char*, NvmlHandle*) = nullptr;
  NvmlResult (*clock)(NvmlHandle, unsigned, unsigned*) = nullptr;
  NvmlResult (*max_clock)(NvmlHandle, unsigned, unsigned*) = nullptr;
  NvmlResult (*reasons)(NvmlHandle, unsigned long long*) = nullptr;
  NvmlResult (*errors)(NvmlHandle, unsigned, unsigned, unsigned long long*) = nullptr;
  NvmlResult (*use)(NvmlHandle, NvmlProcessUse*, unsigned*, unsigned long long) = nullptr;
};

template <typename Call>
void Find(void* library, const char* name, Call* call) {
  *call = reinterpret_cast<Call>(dlsym(library, name));
}

class NvmlDevice final : public GpuDevice {
 public:
  NvmlDevice(const NvmlCalls& calls, NvmlHandle handle, uint32_t process)
      : calls_(calls), handle_(handle), process_(process) {
    unsigned mhz = 0;
    if (calls_.max_clock != nullptr && calls_.max_clock(handle_, kSmClock, &mhz) == kSuccess)
      max_mhz_ = mhz;
  }

  GpuReading Read(uint64_t now_us) override {
    GpuReading reading;
    unsigned mhz = 0;
    if (max_mhz_ > 0 && calls_.clock != nullptr &&
        calls_.clock(handle_, kSmClock, &mhz) == kSuccess) {
      reading.clock_share = static_cast<double>(mhz) / static_cast<double>(max_mhz_);
    }
    unsigned long long reasons = 0;
    if (calls_.reasons != nullptr && calls_.reasons(handle_, &reasons) == kSuccess)
      reading.throttled = (reasons & kHeatOrPower) != 0;
    unsigned long long corrected = 0;
    unsigned long long uncorrected = 0;
    const bool counts =
        calls_.errors != nullptr &&
        calls_.errors(handle_, kCorrected, kSinceDriver, &corrected) == kSuccess &&
        calls_.errors(handle_, kUncorrected, kSinceDriver, &uncorrected) == kSuccess;
    if (counts) reading.memory_errors = corrected + uncorrected;
    reading.others_share = OthersShare(now_us);
    return reading;
  }

 private:
  // The driver keeps some samples a process; the latest of each counts.
  std::optional<double> OthersShare(uint64_t now_us) const {
    if (calls_.use == nullptr) return std::nullopt;
    std::array<NvmlProcessUse, kMostProcesses> rows{};
    unsigned count = kMostProcesses;
    const NvmlResult result =
        calls_.use(handle_, rows.data(), &count, now_us > kLatelyUs ? now_us - kLatelyUs : 0);
    constexpr NvmlResult kNotFound = 6;  // no process used it lately
    if (result == kNotFound) return 0.0;
    if (result != kSuccess || count > kMostProcesses) return std::nullopt;
    unsigned percent = 0;
    bool sees_us = false;
    bool one = true;
    for (unsigned i = 0; i < count; ++i) {
      sees_us = sees_us || rows[i].process == process_;
      one = one && rows[i].process == rows[0].process;
      if (rows[i].process != process_ && IsLatest({rows.data(), count}, i))
        percent += rows[i].sm_percent;
    }
    // In a container the driver's process numbers are not ours: one user alone is taken for this
    // process, of several none can be told to be it.
    if (!sees_us) return one ? std::optional<double>(0.0) : std::nullopt;
    return static_cast<double>(percent) / 100;
  }

  static bool IsLatest(std::span<const NvmlProcessUse> rows, size_t i) {
    for (size_t j = 0; j < rows.size(); ++j) {
      const bool later =
          rows[j].time_us > rows[i].time_us || (rows[j].time_us == rows[i].time_us && j > i);
      if (rows[j].process == rows[i].process && later) return false;
    }
    return true;
  }

  NvmlCalls calls_;
  NvmlHandle handle_;
  uint32_t process_;
  unsigned max_mhz_ = 0;
};

NvmlCalls CallsOf(void* library) {
  NvmlCalls calls;
  Find(library, "nvmlInit_v2", &calls.init);
  Find(library, "nvmlDeviceGetHandleByIndex_v2", &calls.by_index);
  Find(library, "nvmlDeviceGetHandleByUUID", &calls.by_uuid);
  Find(library, "nvmlDeviceGetClockInfo", &calls.clock);
  Find(library, "nvmlDeviceGetMaxClockInfo", &calls.max_clock);
  Find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &calls.reasons);
  Find(library, "nvmlDeviceGetTotalEccErrors", &calls.errors);
  Find(library, "nvmlDeviceGetProcessUtilization", &calls.use);
  return calls;
}

}  // namespace

std::string VisibleDevice(int device, const std::string& visible_devices) {
  if (device < 0) return {};
  if (visible_devices.empty()) return std::to_string(device);
  std::string_view list = visible_devices;
  for (int i = 0; i < device; ++i) {
    const size_t comma = list.find(',');
    if (comma == std::string_view::npos) return {};
    list.remove_prefix(comma + 1);
  }
  const std::string_view entry = list.substr(0, list.find(','));
  if (entry.starts_with("GPU-") || ReadNumber(entry)) return std::string(entry);
  return {};
}

std::unique_ptr<GpuDevice> OpenNvmlDevice(const NvmlOptions& options) {
  const std::string name = VisibleDevice(options.device, options.visible_devices);
  if (name.empty()) return nullptr;
  void* library = dlopen(options.library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return nullptr;
  const NvmlCalls calls = CallsOf(library);
  if (calls.init == nullptr || calls.init() != kSuccess) return nullptr;
  NvmlHandle handle = nullptr;
  const std::optional<uint64_t> index = ReadNumber(name);
  NvmlResult result = -1;
  if (index && calls.by_index != nullptr)
    result = calls.by_index(static_cast<unsigned>(*index), &handle);
  if (!index && calls.by_uuid != nullptr) result = calls.by_uuid(name.c_str(), &handle);
  if (result != kSuccess) return nullptr;
  return std::make_unique<NvmlDevice>(calls, handle, options.process);
}

}  // namespace eroica

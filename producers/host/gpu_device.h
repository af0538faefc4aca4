// The rank's GPU as its driver sees it. A seam: NVML where its library can be loaded, made-up
// devices in tests, nothing on hosts without.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace eroica {

// What a device does not say is left out.
struct GpuReading {
  std::optional<double> clock_share;  // of the highest SM clock
  // by heat or by its power supply; not by its power limit, at which healthy devices run under load
  std::optional<bool> throttled;
  std::optional<uint64_t> memory_errors;  // corrected and uncorrected, since the driver was loaded
  std::optional<double> others_share;     // of the device's time, what other processes used lately
};

class GpuDevice {
 public:
  virtual ~GpuDevice() = default;
  // Where now_us is the driver's clock (CLOCK_REALTIME).
  virtual GpuReading Read(uint64_t now_us) = 0;
};

struct NvmlOptions {
  std::string library = "libnvidia-ml.so.1";
  int device = 0;               // as the process counts its devices
  std::string visible_devices;  // CUDA_VISIBLE_DEVICES
  uint32_t process = 0;
};
// Loads the library, which is never unloaded. Null where it, the driver or the device is not there;
// takes some hundred milliseconds where a driver has to wake up first.
std::unique_ptr<GpuDevice> OpenNvmlDevice(const NvmlOptions& options);

// The device of that number, as NVML names it: an index, or an identifier ("GPU-..."). Empty where
// the list does not name it, or names a part of a device ("MIG-...").
std::string VisibleDevice(int device, const std::string& visible_devices);

}  // namespace eroica

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "producers/host/gpu_device.h"

namespace eroica {
namespace {

constexpr uint64_t kNowUs = 1'700'000'000'000'000;

class NvmlDeviceTest : public ::testing::Test {
 protected:
  ~NvmlDeviceTest() override {
    for (const char* name : {"INIT", "REASONS", "ERRORS", "PROCESS", "ROWS"})
      unsetenv(("MADE_UP_NVML_" + std::string(name)).c_str());
  }
  static void Set(const std::string& name, const std::string& value) {
    setenv(("MADE_UP_NVML_" + name).c_str(), value.c_str(), 1);
  }
  static NvmlOptions Options(int device = 1, std::string visible = "") {
    return {.library = EROICA_MADE_UP_NVML,
            .device = device,
            .visible_devices = std::move(visible),
            .process = 55};
  }
  static GpuReading Read() {
    const auto device = OpenNvmlDevice(Options());
    return device == nullptr ? GpuReading{} : device->Read(kNowUs);
  }
};

TEST_F(NvmlDeviceTest, SaysHowTheDeviceFares) {
  const GpuReading healthy = Read();
  EXPECT_EQ(healthy.clock_share, 0.75);
  EXPECT_EQ(healthy.throttled, false);
  EXPECT_EQ(healthy.memory_errors, 0u);
  EXPECT_EQ(healthy.others_share, 0.0);
  Set("REASONS", "4");  // its power limit: as healthy devices run
  EXPECT_EQ(Read().throttled, false);
  Set("REASONS", "64");
  Set("ERRORS", "3");
  EXPECT_EQ(Read().throttled, true);
  EXPECT_EQ(Read().memory_errors, 6u);
}

TEST_F(NvmlDeviceTest, ARealDeviceSaysHowItFares) {
  const auto device = OpenNvmlDevice({.device = 0});
  if (device == nullptr) GTEST_SKIP() << "needs a GPU and its driver";
  const GpuReading reading = device->Read(kNowUs);
  ASSERT_TRUE(reading.clock_share.has_value());
  EXPECT_GT(*reading.clock_share, 0.0);
  EXPECT_LE(*reading.clock_share, 1.0);
  EXPECT_TRUE(reading.throttled.has_value());
}

TEST_F(NvmlDeviceTest, OtherProcessesAreCountedByTheirLatestUse) {
  Set("PROCESS", "55");
  EXPECT_EQ(Read().others_share, 0.3);
  Set("PROCESS", "56");  // none of the two is known to be this process
  EXPECT_EQ(Read().others_share, std::nullopt);
  Set("ROWS", "1");  // one alone: in a container, where numbers differ
  EXPECT_EQ(Read().others_share, 0.0);
  Set("ROWS", "1000");
  EXPECT_EQ(Read().others_share, std::nullopt);
}

TEST_F(NvmlDeviceTest, WhatIsNotThereIsNull) {
  EXPECT_EQ(OpenNvmlDevice({.library = "libno-such-library.so.1", .device = 0}), nullptr);
  EXPECT_EQ(OpenNvmlDevice({.library = "libm.so.6", .device = 0}), nullptr);  // not NVML
  EXPECT_EQ(OpenNvmlDevice(Options(0)), nullptr);
  EXPECT_EQ(OpenNvmlDevice(Options(-1)), nullptr);
  Set("INIT", "9");
  EXPECT_EQ(OpenNvmlDevice(Options()), nullptr);
}

TEST_F(NvmlDeviceTest, DevicesAreCountedAsTheProcessSeesThem) {
  EXPECT_NE(OpenNvmlDevice(Options(0, "1,0")), nullptr);
  EXPECT_NE(OpenNvmlDevice(Options(1, "0,GPU-7")), nullptr);
  EXPECT_EQ(VisibleDevice(2, ""), "2");
  EXPECT_EQ(VisibleDevice(1, "5,3"), "3");
  EXPECT_EQ(VisibleDevice(2, "5,3"), "");
  EXPECT_EQ(VisibleDevice(0, "MIG-1"), "");
  EXPECT_EQ(VisibleDevice(0, ",,"), "");
}

}  // namespace
}  // namespace eroica

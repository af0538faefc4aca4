#include "tests/evaluation/simulate/hardware_spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace eroica::simulate {
namespace {

SimulatedJob Job(const Hardware& hardware) {
  SimulatedJob job;
  job.layout = {.data = 512};
  job.hardware = hardware;
  return job;
}

StepEffects EffectsOf(const HardwareSpread& spread, uint32_t rank) {
  StepEffects effects;
  spread.AddTo(rank, effects);
  return effects;
}

struct Moments {
  double mean = 0;
  double deviation = 0;
  double farthest = 0;
};

// Of logarithms.
Moments MomentsOf(const std::vector<Factor>& factors) {
  Moments moments;
  double squares = 0;
  for (const Factor factor : factors) {
    const double log = std::log(static_cast<double>(factor) / kUnit);
    moments.mean += log / static_cast<double>(factors.size());
    squares += log * log / static_cast<double>(factors.size());
    moments.farthest = std::max(moments.farthest, std::abs(log));
  }
  moments.deviation = std::sqrt(squares - moments.mean * moments.mean);
  return moments;
}

TEST(HardwareSpread, MachinesAreTheSameByDefault) {
  EXPECT_TRUE(HardwareSpread(Job({})).None());
  EXPECT_FALSE(HardwareSpread(Job({.core_spread = 0.01})).None());
}

TEST(HardwareSpread, DevicesDifferForGoodAndNoneByMoreThanTwoDeviations) {
  const HardwareSpread spread(Job({.device_spread = 0.01}));
  std::vector<Factor> kernels;
  for (uint32_t rank = 0; rank < 512; ++rank) {
    const StepEffects effects = EffectsOf(spread, rank);
    kernels.push_back(effects.kernel[0]);
    EXPECT_EQ(effects.kernel[0], effects.kernel[1]) << "all follow the clock";
    EXPECT_NEAR(1.0 * effects.kernel[0] * effects.sm_clock, 1.0 * kUnit * kUnit, 3.0 * kUnit);
    EXPECT_EQ(effects.host, kUnit);
    EXPECT_EQ(effects.nic_send, kUnit);
  }
  const Moments moments = MomentsOf(kernels);
  EXPECT_NEAR(moments.mean, 0, 0.0015);
  EXPECT_NEAR(moments.deviation, 0.0095, 0.001);
  EXPECT_LE(moments.farthest, 0.0201);
  EXPECT_GT(moments.farthest, 0.018);
}

TEST(HardwareSpread, MemoryBoundKernelsTakeTheMemorysSpeed) {
  const HardwareSpread spread(Job({.device_spread = 0.1,
                                   .memory_spread = 0.02,
                                   .memory_bound = {.matrix = 0, .elementwise = 1},
                                   .clock_on_memory = 0}));
  std::vector<Factor> matrix;
  std::vector<Factor> elementwise;
  for (uint32_t rank = 0; rank < 512; ++rank) {
    const StepEffects effects = EffectsOf(spread, rank);
    matrix.push_back(effects.kernel[static_cast<size_t>(KernelKind::kMatrix)]);
    elementwise.push_back(effects.kernel[static_cast<size_t>(KernelKind::kElementwise)]);
  }
  EXPECT_NEAR(MomentsOf(matrix).deviation, 0.095, 0.01);
  EXPECT_NEAR(MomentsOf(elementwise).deviation, 0.019, 0.002);
}

TEST(HardwareSpread, AHostsThreadsShareItsProcessor) {
  const HardwareSpread hosts(Job({.processor_spread = 0.05}));
  EXPECT_EQ(EffectsOf(hosts, 8).host, EffectsOf(hosts, 15).host);
  EXPECT_NE(EffectsOf(hosts, 8).host, EffectsOf(hosts, 16).host);
  const HardwareSpread cores(Job({.core_spread = 0.05}));
  EXPECT_NE(EffectsOf(cores, 8).host, EffectsOf(cores, 15).host);
}

TEST(HardwareSpread, ANicMaySendAndReceiveAtTwoSpeeds) {
  const HardwareSpread spread(Job({.link_spread = 0.03}));
  const StepEffects effects = EffectsOf(spread, 3);
  EXPECT_NE(effects.nic_send, effects.nic_receive);
  EXPECT_NE(effects.nvlink, kUnit);
  EXPECT_EQ(effects.kernel[0], kUnit);
}

TEST(HardwareSpread, ADeviceKeepsItsSpeedWhenTheJobsSizeChanges) {
  SimulatedJob job = Job({.device_spread = 0.01});
  const HardwareSpread large(job);
  job.layout.data = 16;
  const HardwareSpread small(job);
  EXPECT_EQ(EffectsOf(large, 9).kernel[0], EffectsOf(small, 9).kernel[0]);
  job.seed = 2;
  EXPECT_NE(EffectsOf(large, 9).kernel[0], EffectsOf(HardwareSpread(job), 9).kernel[0]);
}

}  // namespace
}  // namespace eroica::simulate

#include "tests/evaluation/simulate/sample_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/evaluation/simulate/engine_harness.h"
#include "tests/evaluation/simulate/transfer.h"

namespace eroica::simulate {
namespace {

std::vector<double> Values(const EngineRun& run, uint32_t rank, Resource resource) {
  std::vector<double> values;
  for (const EventBatch* batch : run.BatchesOf(rank)) {
    for (const ResourceSample& sample : batch->samples) {
      if (sample.resource == resource) values.push_back(static_cast<double>(sample.value));
    }
  }
  return values;
}

TEST(SampleWriter, AKernelShowsForItsShareOfThePeriod) {
  EngineHarness harness;
  harness.job.workload.launch_ns = 0;
  harness.job.telemetry.sample_period_ns = 1'000;
  harness.effects.script = [](uint32_t, uint32_t, StepEffects& effects) {
    effects.sm_clock = kUnit / 2;
  };
  HandmadeProgram writer(harness.catalog);
  writer.Host("load", 500).Kernel("matmul", 2'000, 0.75).Synchronize().Host("log", 1'500);
  harness.programs = {writer.program()};
  const EngineRun run = harness.Run();
  EXPECT_THAT(Values(run, 0, Resource::kGpuSm),
              testing::Pointwise(testing::DoubleNear(1e-4), {0.1875, 0.375, 0.1875, 0.0}));
  EXPECT_THAT(Values(run, 0, Resource::kCpu),
              testing::Pointwise(testing::DoubleNear(1e-4), {0.5, 0.0, 0.5, 1.0}));
  // A matrix product takes 0.35 of the memory's bandwidth, half of that at half the clock.
  EXPECT_THAT(Values(run, 0, Resource::kGpuDram),
              testing::Pointwise(testing::DoubleNear(1e-4), {0.0875, 0.175, 0.0875, 0.0}));
  EXPECT_EQ(run.batches[0].samples[0].time_ns - HostClock::kEpochNs, 1'000);
  EXPECT_TRUE(Values(run, 0, Resource::kNic).empty());
  EXPECT_TRUE(Values(run, 0, Resource::kNvlink).empty());
}

TEST(SampleWriter, SlowMemoryMovesAsManyBytesInALongerTime) {
  EngineHarness harness;
  harness.job.workload.launch_ns = 0;
  harness.job.telemetry.sample_period_ns = 1'000;
  harness.job.hardware.memory_bound.elementwise = 1;
  harness.effects.script = [](uint32_t, uint32_t, StepEffects& effects) {
    effects.memory = 2 * kUnit;
  };
  HandmadeProgram writer(harness.catalog);
  writer.Kernel("norm", 1'000).Synchronize().Host("log", 1'000);
  RankProgram program = writer.program();
  program.instructions[0].kernel = KernelKind::kElementwise;
  harness.programs = {program};
  // An elementwise kernel takes 0.85 of the memory's bandwidth, here half of that for twice as
  // long.
  EXPECT_THAT(Values(harness.Run(), 0, Resource::kGpuDram),
              testing::Pointwise(testing::DoubleNear(1e-4), {0.425, 0.425, 0.0}));
}

TEST(SampleWriter, WhatRunsAcrossStepsIsCountedOnce) {
  EngineHarness harness;
  harness.job.workload.launch_ns = 0;
  harness.job.telemetry.sample_period_ns = 1'000;
  harness.job.steps = 3;
  HandmadeProgram writer(harness.catalog);
  writer.Host("load", 1'500).Kernel("matmul", 700, 0.5);
  harness.programs = {writer.program()};
  const EngineRun run = harness.Run();
  // Kernels at 1.5, 3.0 and 4.5 us, of 0.7 us; the thread has come to 4.5 us.
  EXPECT_THAT(Values(run, 0, Resource::kGpuSm),
              testing::Pointwise(testing::DoubleNear(1e-4), {0.0, 0.25, 0.1, 0.35}));
}

TEST(SampleWriter, LinksAreBusyWhileDataMoves) {
  EngineHarness harness;
  harness.job.workload.launch_ns = 0;
  harness.job.layout.data = 4;
  harness.job.layout.ranks_per_host = 2;
  harness.job.telemetry.sample_period_ns = 10'000;
  HandmadeProgram writer(harness.catalog);
  writer.Host("load", 1'000'000).AllReduce(GroupKind::kData, uint64_t{1} << 28, 0).Synchronize();
  harness.programs = {writer.program()};
  harness.effects.script = [](uint32_t rank, uint32_t, StepEffects& effects) {
    effects.host = rank == 0 ? 2 * kUnit : kUnit;
  };
  const EngineRun run = harness.Run();
  const std::vector<double> nic = Values(run, 1, Resource::kNic);
  ASSERT_GT(nic.size(), 300u);
  for (size_t i = 0; i < 200; ++i)
    EXPECT_EQ(nic[i], 0)
        << i;  // rank 1 is inside the collective from 1 ms on, rank 0 joins at 2 ms
  EXPECT_GT(*std::max_element(nic.begin(), nic.end()), 0.2);
  // As much as the model says.
  std::vector<MemberLinks> members;
  for (uint32_t rank = 0; rank < 4; ++rank)
    members.push_back({.host = rank / 2, .device = rank % 2});
  Transfer transfer;
  TransferModel(harness.job.fabric)
      .Collective(CollectiveOperation::kAllReduce, uint64_t{1} << 28, members, {}, true, transfer);
  double expected = 0;
  for (const LinkActivity& activity : transfer.activities[1]) {
    if (activity.resource != Resource::kNic) continue;
    expected += static_cast<double>(activity.level) * static_cast<double>(activity.duration_ns) *
                static_cast<double>(activity.slice_ns) / static_cast<double>(activity.period_ns);
  }
  double sum = 0;
  for (const double value : nic) sum += value * 10'000;
  EXPECT_NEAR(sum, expected, 0.02 * expected);
  // Memory is busy when links are, with what they move.
  const std::vector<double> memory = Values(run, 1, Resource::kGpuDram);
  const std::vector<double> nvlink = Values(run, 1, Resource::kNvlink);
  ASSERT_EQ(memory.size(), nic.size());
  for (size_t i = 0; i < memory.size(); ++i)
    EXPECT_NEAR(memory[i], 2 * (45 * nic[i] + 450 * nvlink[i]) / 3'350, 1e-3) << i;
  EXPECT_GT(*std::max_element(memory.begin(), memory.end()), 0.01);
}

TEST(SampleWriter, ACopyFillsTheBusAndASlowBusIsNotFuller) {
  for (const Factor longer : {kUnit, 2 * kUnit}) {
    EngineHarness harness;
    harness.job.workload.launch_ns = 0;
    harness.job.telemetry.sample_period_ns = 1'000;
    HandmadeProgram writer(harness.catalog);
    writer.Kernel("Memcpy HtoD", 1'000).Synchronize().Host("log", 4'000);
    RankProgram program = writer.program();
    program.instructions[0].kernel = KernelKind::kCopy;
    harness.programs = {program};
    harness.effects.script = [longer](uint32_t, uint32_t, StepEffects& effects) {
      effects.kernel[static_cast<size_t>(KernelKind::kCopy)] = longer;
    };
    const EngineRun run = harness.Run();
    const double share = longer == kUnit ? 1.0 : 0.5;
    EXPECT_NEAR(Values(run, 0, Resource::kPcieTx)[0], share, 1e-4);
    EXPECT_NEAR(Values(run, 0, Resource::kPcieTx)[1], longer == kUnit ? 0 : share, 1e-4);
    EXPECT_EQ(Values(run, 0, Resource::kGpuSm)[0], 0);
    EXPECT_NEAR(Values(run, 0, Resource::kGpuDram)[0], share * 25 / 3'350, 1e-4);
  }
}

struct Spread {
  double mean = 0;
  double deviation = 0;
};
// Over the samples that are not idle.
Spread BusySpread(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const double value : values) {
    if (value < 0.01) continue;
    sum += value;
    squares += value * value;
    ++count;
  }
  if (count == 0) return {};
  return {sum / count, std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)))};
}

// EROICA, section 6.1: 32 ranks on 4 hosts, one NIC at half its speed.
TEST(SampleWriter, ABadLinkOfARingIsLowAndSteadyItsVictimsAreLowAndUnsteady) {
  EngineHarness harness;
  harness.job.layout.data = 32;
  harness.job.telemetry.sample_period_ns = 100'000;
  HandmadeProgram writer(harness.catalog);
  writer.AllReduce(GroupKind::kData, uint64_t{4} << 30, 0).Synchronize();
  harness.programs = {writer.program()};
  constexpr uint32_t kCulprit = 9;
  harness.effects.script = [](uint32_t rank, uint32_t, StepEffects& effects) {
    if (rank == kCulprit) effects.nic_send = kUnit / 2;
  };
  const EngineRun run = harness.Run();
  const Spread culprit = BusySpread(Values(run, kCulprit, Resource::kNic));
  EXPECT_NEAR(culprit.mean, 0.5, 0.02);
  EXPECT_LT(culprit.deviation, 0.05);
  for (const uint32_t victim : {1u, 17u, 25u}) {  // the same ring, on the other hosts
    const Spread spread = BusySpread(Values(run, victim, Resource::kNic));
    EXPECT_LT(spread.mean, 0.8) << victim;
    EXPECT_GT(spread.deviation, 0.2) << victim;
  }
  for (const uint32_t other : {0u, 2u, 11u, 19u}) {  // of other rings
    const Spread spread = BusySpread(Values(run, other, Resource::kNic));
    EXPECT_GT(spread.mean, 0.98) << other;
    EXPECT_LT(spread.deviation, 0.06) << other;
  }
}

}  // namespace
}  // namespace eroica::simulate

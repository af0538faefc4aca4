#include "producers/simulate/sample_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producers/simulate/engine_harness.h"
#include "producers/simulate/transfer.h"

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
  harness.effects.script = [](uint32_t, uint32_t, StepEffects& effects) { effects.sm_clock = kUnit / 2; };
  HandmadeProgram writer(harness.catalog);
  writer.Host("load", 500).Kernel("matmul", 2'000, 0.75).Synchronize().Host("log", 1'500);
  harness.programs = {writer.program()};
  const EngineRun run = harness.Run();
  EXPECT_THAT(Values(run, 0, Resource::kGpuSm), testing::Pointwise(testing::DoubleNear(1e-4), {0.1875, 0.375, 0.1875, 0.0}));
  EXPECT_THAT(Values(run, 0, Resource::kCpu), testing::Pointwise(testing::DoubleNear(1e-4), {0.5, 0.0, 0.5, 1.0}));
  EXPECT_EQ(run.batches[0].samples[0].time_ns - HostClock::kEpochNs, 1'000);
  EXPECT_TRUE(Values(run, 0, Resource::kNic).empty());
  EXPECT_TRUE(Values(run, 0, Resource::kNvlink).empty());
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
  EXPECT_THAT(Values(run, 0, Resource::kGpuSm), testing::Pointwise(testing::DoubleNear(1e-4), {0.0, 0.25, 0.1, 0.35}));
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
  harness.effects.script = [](uint32_t rank, uint32_t, StepEffects& effects) { effects.host = rank == 0 ? 2 * kUnit : kUnit; };
  const EngineRun run = harness.Run();
  const std::vector<double> nic = Values(run, 1, Resource::kNic);
  ASSERT_GT(nic.size(), 300u);
  for (size_t i = 0; i < 200; ++i) EXPECT_EQ(nic[i], 0) << i;  // rank 1 is inside the collective from 1 ms on, rank 0 joins at 2 ms
  EXPECT_GT(*std::max_element(nic.begin(), nic.end()), 0.2);
  // As much as the model says.
  std::vector<MemberLinks> members;
  for (uint32_t rank = 0; rank < 4; ++rank) members.push_back({.host = rank / 2, .device = rank % 2});
  Transfer transfer;
  TransferModel(harness.job.fabric, 2).Collective(CollectiveOperation::kAllReduce, uint64_t{1} << 28, members, {}, true, transfer);
  double expected = 0;
  for (const LinkActivity& activity : transfer.activities[1]) {
    if (activity.resource != Resource::kNic) continue;
    expected += static_cast<double>(activity.level) * static_cast<double>(activity.duration_ns) * static_cast<double>(activity.slice_ns) /
                static_cast<double>(activity.period_ns);
  }
  double sum = 0;
  for (const double value : nic) sum += value * 10'000;
  EXPECT_NEAR(sum, expected, 0.02 * expected);
}

}  // namespace
}  // namespace eroica::simulate

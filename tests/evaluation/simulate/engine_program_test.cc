// The engine runs the programs of whole jobs. With a fabric that costs next to nothing its steps
// take what IdealStepTime says: two implementations, one answer.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/engine_harness.h"
#include "tests/evaluation/simulate/ideal_step.h"
#include "tests/evaluation/simulate/program_builder.h"

namespace eroica::simulate {
namespace {

std::vector<ParallelLayout> ProgramLayouts() {
  return {
      {},
      {.data = 4},
      {.data = 4, .sharded = true},
      {.tensor = 2, .context = 2, .data = 2},
      {.data = 4, .expert = 2},
      {.pipeline = 4},
      {.tensor = 2, .data = 2, .pipeline = 2},
      {.tensor = 2, .data = 2, .pipeline = 2, .virtual_stages = 2},
      {.data = 2, .pipeline = 3, .virtual_stages = 2},
      {.tensor = 2,
       .context = 2,
       .data = 4,
       .pipeline = 4,
       .expert = 4,
       .virtual_stages = 2,
       .sharded = true},
  };
}

EngineHarness HarnessOf(const ParallelLayout& layout) {
  EngineHarness harness;
  SimulatedJob& job = harness.job;
  job.layout = layout;
  job.workload.layers = 8;
  job.workload.micro_batches = 2 * layout.pipeline;
  job.workload.expert_every = layout.expert > 1 ? 2 : 0;
  job.steps = 2;
  harness.programs = BuildPrograms(job, harness.catalog);
  return harness;
}

TEST(EngineProgram, WithAFreeFabricStepsTakeTheIdealTime) {
  for (const ParallelLayout& layout : ProgramLayouts()) {
    EngineHarness harness = HarnessOf(layout);
    harness.job.fabric = {.nvlink = 100'000, .nic = 100'000, .pcie = 100'000, .hop_latency_ns = 0};
    harness.job.workload.activation_bytes = 1'000;
    harness.job.workload.parameter_bytes = 1'000;
    harness.programs = BuildPrograms(harness.job, harness.catalog);
    const EngineRun run = harness.Run();
    const auto ideal_ns = IdealStepTime(harness.job, harness.programs);
    ASSERT_TRUE(ideal_ns.ok()) << ideal_ns.status();
    EXPECT_FALSE(run.report.hangs);
    ASSERT_EQ(run.report.step_ns.size(), 2u);
    for (const int64_t step_ns : run.report.step_ns) {
      EXPECT_NEAR(static_cast<double>(step_ns) / static_cast<double>(*ideal_ns), 1, 1e-3)
          << layout.world_size() << " ranks";
    }
  }
}

TEST(EngineProgram, WithARealFabricStepsTakeLongerAndEnd) {
  for (const ParallelLayout& layout : ProgramLayouts()) {
    EngineHarness harness = HarnessOf(layout);
    const EngineRun run = harness.Run();
    const auto ideal_ns = IdealStepTime(harness.job, harness.programs);
    ASSERT_TRUE(ideal_ns.ok()) << ideal_ns.status();
    EXPECT_FALSE(run.report.hangs);
    ASSERT_EQ(run.report.step_ns.size(), 2u);
    for (const int64_t step_ns : run.report.step_ns) {
      EXPECT_GE(step_ns, *ideal_ns);
      EXPECT_LE(step_ns, 4 * *ideal_ns) << layout.world_size() << " ranks";
    }
  }
}

TEST(EngineProgram, OccasionsComeInTheirSteps) {
  EngineHarness harness = HarnessOf({.data = 2});
  harness.job.steps = 4;
  harness.job.workload.checkpoint = {.every = 2, .duration_ns = 700'000'000};
  harness.job.workload.evaluation = {.every = 4, .duration_ns = 300'000'000};
  harness.programs = BuildPrograms(harness.job, harness.catalog);
  const std::vector<int64_t> step_ns = harness.Run().report.step_ns;
  ASSERT_EQ(step_ns.size(), 4u);
  EXPECT_NEAR(static_cast<double>(step_ns[1] - step_ns[0]), 700e6, 1e6);
  EXPECT_NEAR(static_cast<double>(step_ns[2] - step_ns[0]), 0, 1e6);
  EXPECT_NEAR(static_cast<double>(step_ns[3] - step_ns[0]), 1000e6, 1e6);
}

}  // namespace
}  // namespace eroica::simulate

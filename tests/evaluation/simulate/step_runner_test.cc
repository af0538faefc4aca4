#include "tests/evaluation/simulate/step_runner.h"

#include <gtest/gtest.h>

#include "schemas/testing/not_empty.h"
#include "tests/evaluation/simulate/batch_writer.h"
#include "tests/evaluation/simulate/engine_harness.h"

namespace eroica::simulate {
namespace {

struct NullSink : BatchSink {
  absl::Status Write(const EventBatch&) override { return absl::OkStatus(); }
};

TEST(StepRunner, KeepsNothingOfStepsThatAreReported) {
  EngineHarness harness;
  harness.job.layout.data = 4;
  harness.job.workload.jitter = {.kernel = 0.2, .host = 0.2, .transfer = 0.2};
  harness.job.telemetry.sample_period_ns = 10'000;
  const GroupTable groups(harness.job.layout, "job");
  const std::vector<StageProgram> stages = {
      MakeStageProgram(harness.DataParallelStep(), harness.catalog, harness.job.layout, false)};
  StepRunner runner(harness.job, groups, stages, harness.catalog, harness.effects);
  NullSink sink;
  BatchWriter writer(harness.job, groups, stages, harness.catalog, runner, sink);
  const Rendezvous& meeting = runner.rendezvous(groups.Find(0, GroupKind::kData));
  std::vector<size_t> capacities;
  for (uint32_t step = 0; step < 50; ++step) {
    runner.Run(step);
    for (RankState& rank : runner.ranks()) {
      EXPECT_EQ(rank.condition, RankCondition::kStepDone);
      EXPECT_EQ(rank.kernels.size(), 1u);
      ASSERT_TRUE(writer.Write(rank, {}, false).ok());
      EXPECT_TRUE(rank.kernels.empty() && rank.thread.empty() && rank.marks.empty() &&
                  rank.waits.empty());
      EXPECT_TRUE(rank.streams[0].rows.empty());
    }
    runner.Forget();
    EXPECT_EQ(meeting.ended(), step + 1);
    EXPECT_EQ(meeting.transfers.size(), 1u);
    const RankState& rank = runner.ranks()[3];
    const std::vector<size_t> now = {rank.kernels.capacity(), rank.thread.capacity(),
                                     rank.streams[0].rows.capacity(), rank.marks.capacity(),
                                     rank.waits.capacity()};
    if (step > 0) {
      EXPECT_EQ(now, capacities);
    }
    capacities = now;
  }
}

TEST(StepRunner, AsksForTransfersAnewWhenLinksChange) {
  EngineHarness harness;
  harness.job.layout.data = 2;
  harness.job.layout.ranks_per_host = 1;
  harness.job.steps = 4;
  harness.programs = {harness.DataParallelStep()};
  harness.effects.script = [](uint32_t rank, uint32_t step, StepEffects& effects) {
    if (rank == 1 && step == 2) effects.nic_send = kUnit / 4;
  };
  const EngineRun run = harness.Run();
  ASSERT_EQ(run.report.step_ns.size(), 4u);
  EXPECT_EQ(run.report.step_ns[0], run.report.step_ns[1]);
  EXPECT_GT(run.report.step_ns[2], run.report.step_ns[1]);
  EXPECT_EQ(run.report.step_ns[3], run.report.step_ns[1]);
}

TEST(StepRunner, SlowPathsSlowWhoUsesThem) {
  EngineHarness harness;
  harness.job.layout.data = 2;
  harness.job.layout.ranks_per_host = 1;
  harness.programs = {harness.DataParallelStep()};
  const int64_t healthy_ns = harness.Run().report.step_ns[0];
  harness.effects.slow_paths = {{.source_host = 1, .destination_host = 0, .speed = kUnit / 4}};
  EXPECT_GT(harness.Run().report.step_ns[0], healthy_ns);
}

TEST(StepRunner, MoreTokensAreMoreWorkAndMoreBytesButNotMoreGradients) {
  EngineHarness harness;
  harness.job.layout.tensor = 2;
  harness.job.layout.data = 2;
  HandmadeProgram writer(harness.catalog);
  writer.Kernel("matmul", 1'000'000)
      .AllReduce(GroupKind::kTensor, 1 << 20, 0)
      .Await(0)
      .AllReduce(GroupKind::kData, 1 << 20, 1)
      .Synchronize();
  harness.programs = {writer.program()};
  harness.effects.script = [](uint32_t, uint32_t, StepEffects& effects) {
    effects.work = 2 * kUnit;
  };
  const EngineRun run = harness.Run();
  EXPECT_EQ(run.Of(0, "matmul")[0].end_ns - run.Of(0, "matmul")[0].start_ns, 2'000'000);
  const EventBatch& batch = *run.BatchesOf(0)[0];
  ASSERT_EQ(batch.collectives.size(), 2u);
  EXPECT_EQ(batch.collectives[0].bytes, uint64_t{2} << 20);
  EXPECT_EQ(batch.collectives[1].bytes, uint64_t{1} << 20);
}

// A step of two micro batches of a tensor group, and an optimizer that belongs to none.
RankProgram TwoMicroBatches(FunctionCatalog& catalog) {
  HandmadeProgram writer(catalog);
  writer.Kernel("first", 1'000'000)
      .AllReduce(GroupKind::kTensor, 1 << 20, 0)
      .Await(0)
      .Kernel("second", 1'000'000)
      .Kernel("optimizer", 1'000'000)
      .Synchronize();
  RankProgram program = writer.program();
  program.instructions[0].micro_batch = 0;
  program.instructions[1].micro_batch = 0;
  program.instructions[3].micro_batch = 1;
  return program;
}

TEST(StepRunner, AMicroBatchIsAsLongAsItIs) {
  EngineHarness harness;
  harness.job.layout.tensor = 2;
  harness.programs = {TwoMicroBatches(harness.catalog)};
  harness.effects.script = [](uint32_t, uint32_t, StepEffects& effects) {
    effects.micro_batches = {2 * kUnit, kUnit / 2};
  };
  const EngineRun run = harness.Run();
  const auto duration_ns = [&run](std::string_view kernel) {
    const EngineRun::Interval interval = run.Of(0, kernel).at(0);
    return interval.end_ns - interval.start_ns;
  };
  EXPECT_EQ(duration_ns("first"), 2'000'000);
  EXPECT_EQ(duration_ns("second"), 500'000);
  EXPECT_EQ(duration_ns("optimizer"), 1'000'000);
  EXPECT_EQ(run.BatchesOf(0)[0]->collectives.at(0).bytes, uint64_t{2} << 20);
}

TEST(StepRunner, AttentionMayGrowWithTheSquareOfTheLength) {
  EngineHarness harness;
  harness.job.workload.attention_squares = 0.5;
  HandmadeProgram writer(harness.catalog);
  writer.Kernel("matmul", 1'000'000).Kernel("attention", 1'000'000).Synchronize();
  RankProgram program = writer.program();
  program.instructions[1].kernel = KernelKind::kAttention;
  harness.programs = {program};
  harness.effects.script = [](uint32_t, uint32_t, StepEffects& effects) {
    effects.work = 2 * kUnit;
  };
  const EngineRun run = harness.Run();
  EXPECT_EQ(run.Of(0, "matmul")[0].end_ns - run.Of(0, "matmul")[0].start_ns, 2'000'000);
  EXPECT_EQ(run.Of(0, "attention")[0].end_ns - run.Of(0, "attention")[0].start_ns, 3'000'000);
}

TEST(StepRunner, SlowMemorySlowsWhatItBounds) {
  EngineHarness harness;
  harness.job.hardware.memory_bound = {.matrix = 0, .elementwise = 0.5};
  HandmadeProgram writer(harness.catalog);
  writer.Kernel("matmul", 1'000'000).Kernel("norm", 1'000'000).Synchronize();
  RankProgram program = writer.program();
  program.instructions[1].kernel = KernelKind::kElementwise;
  harness.programs = {program};
  harness.effects.script = [](uint32_t, uint32_t, StepEffects& effects) {
    effects.memory = 3 * kUnit;
  };
  const EngineRun run = harness.Run();
  EXPECT_EQ(run.Of(0, "matmul")[0].end_ns - run.Of(0, "matmul")[0].start_ns, 1'000'000);
  EXPECT_EQ(run.Of(0, "norm")[0].end_ns - run.Of(0, "norm")[0].start_ns, 2'000'000);
}

TEST(StepRunner, TransfersOfAStepHaveTheirNoiseInCommon) {
  EngineHarness harness;
  harness.job.layout.data = 2;
  harness.job.layout.ranks_per_host = 1;
  harness.job.noise.step_transfer = 0.2;
  harness.job.steps = 3;
  HandmadeProgram writer(harness.catalog);
  writer.AllReduce(GroupKind::kData, 64 << 20, 0)
      .AllReduce(GroupKind::kData, 64 << 20, 1)
      .Synchronize();
  harness.programs = {writer.program()};
  const std::vector<EngineRun::Interval> seen = harness.Run().Of(0, "nccl");
  ASSERT_EQ(seen.size(), 6u);
  const auto duration_ns = [&seen](size_t i) { return seen[i].end_ns - seen[i].start_ns; };
  for (size_t step = 0; step < 3; ++step)
    EXPECT_NEAR(static_cast<double>(duration_ns(2 * step)),
                static_cast<double>(duration_ns(2 * step + 1)), 2'000)
        << step;
  EXPECT_NE(duration_ns(0), duration_ns(2));
  EXPECT_NE(duration_ns(2), duration_ns(4));
}

TEST(StepRunner, PulsesThatComeAsTimePassesStrikeLongKernelsMoreOften) {
  EngineHarness harness;
  HandmadeProgram writer(harness.catalog);
  for (int i = 0; i < 2'000; ++i) writer.Kernel("short", 1'000).Kernel("long", 10'500);
  harness.programs = {writer.program()};
  harness.effects.script = [](uint32_t, uint32_t, StepEffects& effects) {
    effects.pulses = {.duration_ns = 500, .period_ns = 4'000};
  };
  const EngineRun run = harness.Run();
  const auto mean_ns = [&run](std::string_view kernel) {
    double sum = 0;
    for (const EngineRun::Interval& interval : run.Of(0, kernel))
      sum += static_cast<double>(interval.end_ns - interval.start_ns) / 2'000;
    return sum;
  };
  EXPECT_NEAR(mean_ns("short"), 1'125, 20);
  EXPECT_NEAR(mean_ns("long"), 10'500 + 500 * 10.5 / 4, 40);
}

TEST(StepRunner, PulsesOfTheDeviceStrikeAsOftenAsTheySay) {
  EngineHarness harness;
  HandmadeProgram writer(harness.catalog);
  for (int i = 0; i < 10'000; ++i) writer.Kernel("k", 1'000);
  harness.programs = {writer.program()};
  harness.effects.script = [](uint32_t, uint32_t, StepEffects& effects) {
    effects.pulses = {.per_million_kernels = 50'000, .duration_ns = 500'000};
  };
  int struck = 0;
  for (const EngineRun::Interval& kernel : NotEmpty(harness.Run().Of(0, "k"))) {
    const int64_t duration_ns = kernel.end_ns - kernel.start_ns;
    EXPECT_TRUE(duration_ns == 1'000 || duration_ns == 501'000) << duration_ns;
    struck += duration_ns > 1'000 ? 1 : 0;
  }
  EXPECT_GT(struck, 400);
  EXPECT_LT(struck, 600);
}

}  // namespace
}  // namespace eroica::simulate

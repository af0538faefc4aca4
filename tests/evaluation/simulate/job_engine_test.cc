#include "tests/evaluation/simulate/job_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/evaluation/simulate/engine_harness.h"
#include "tests/evaluation/simulate/transfer.h"

namespace eroica::simulate {
namespace {

using Interval = EngineRun::Interval;

constexpr int64_t kLaunch = 1'000;
constexpr int64_t kMillisecond = 1'000'000;

int64_t AllReduceNs(const SimulatedJob& job, uint64_t bytes) {
  const std::vector<MemberLinks> members = [&] {
    std::vector<MemberLinks> all;
    for (uint32_t rank = 0; rank < job.layout.world_size(); ++rank)
      all.push_back({.host = job.layout.HostOf(rank), .device = job.layout.DeviceOf(rank)});
    return all;
  }();
  Transfer transfer;
  TransferModel(job.fabric)
      .Collective(CollectiveOperation::kAllReduce, bytes, members, {}, false, transfer);
  return transfer.duration_ns;
}

TEST(JobEngine, LastArriverHasTheShortestKernel) {
  EngineHarness harness;
  harness.job.layout.data = 4;
  harness.programs = {harness.DataParallelStep()};
  harness.effects.script = [](uint32_t rank, uint32_t, StepEffects& effects) {
    effects.kernel.fill(ToFactor(rank == 2 ? 1.5 : 1 + 0.125 * rank));
  };
  const EngineRun run = harness.Run();
  const int64_t duration = AllReduceNs(harness.job, 1 << 20);
  const int64_t last_arrival = kLaunch + 3 * kMillisecond / 2;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const int64_t arrival =
        kLaunch + (rank == 2 ? 3 * kMillisecond / 2 : kMillisecond + rank * kMillisecond / 8);
    EXPECT_THAT(run.Of(rank),
                testing::ElementsAre(
                    Interval{kLaunch, arrival, "matmul", "compute"},
                    Interval{2 * kLaunch, last_arrival + duration, "cudaDeviceSynchronize",
                             "training thread"},
                    Interval{arrival, last_arrival + duration, "nccl all_reduce", "nccl data"}));
  }
  EXPECT_EQ(run.report.steps, 1u);
  EXPECT_THAT(run.report.step_ns, testing::ElementsAre(last_arrival + duration));
  EXPECT_FALSE(run.report.hangs);
}

TEST(JobEngine, WaitingPassesFromCommunicatorToCommunicator) {
  // Ranks 0 and 1 are one tensor group, 2 and 3 the other; 0 and 2, 1 and 3 share data groups. Only
  // rank 3 is slow, rank 0 never meets it.
  EngineHarness harness;
  harness.job.layout.tensor = 2;
  harness.job.layout.data = 2;
  HandmadeProgram writer(harness.catalog);
  writer.Kernel("matmul", kMillisecond)
      .AllReduce(GroupKind::kTensor, 1024, 0)
      .Await(0)
      .AllReduce(GroupKind::kData, 1024, 1)
      .Synchronize();
  harness.programs = {writer.program()};
  harness.effects.script = [](uint32_t rank, uint32_t, StepEffects& effects) {
    effects.kernel.fill(rank == 3 ? 2 * kUnit : kUnit);
  };
  const EngineRun run = harness.Run();
  const auto length = [&](uint32_t rank, std::string_view lane) {
    for (const Interval& interval : run.Of(rank, "nccl")) {
      if (interval.lane == lane) return interval.end_ns - interval.start_ns;
    }
    return int64_t{-1};
  };
  EXPECT_EQ(length(0, "nccl tensor"), length(3, "nccl tensor"));  // nobody is late there
  EXPECT_EQ(length(2, "nccl tensor"), length(3, "nccl tensor") + kMillisecond);  // waits for rank 3
  EXPECT_EQ(length(0, "nccl data"),
            length(2, "nccl data") + kMillisecond);  // waits for rank 2, which waited
  EXPECT_EQ(length(1, "nccl data"), length(3, "nccl data") + kMillisecond);
}

TEST(JobEngine, OperationsOfOneStreamRunOneAfterAnother) {
  EngineHarness harness;
  harness.job.layout.data = 2;
  HandmadeProgram writer(harness.catalog);
  writer.AllReduce(GroupKind::kData, 1 << 24, 0)
      .AllReduce(GroupKind::kData, 1 << 24, 1)
      .Synchronize();
  harness.programs = {writer.program()};
  const EngineRun run = harness.Run();
  const int64_t duration = AllReduceNs(harness.job, 1 << 24);
  const std::vector<Interval> reduces = run.Of(1, "nccl");
  ASSERT_EQ(reduces.size(), 2u);
  EXPECT_EQ(reduces[0].start_ns, kLaunch);
  EXPECT_EQ(reduces[0].end_ns, kLaunch + duration);
  EXPECT_EQ(reduces[1].start_ns,
            reduces[0].end_ns);  // launched long before, it starts when the stream is free
  EXPECT_EQ(reduces[1].end_ns, reduces[0].end_ns + duration);
  const EventBatch& batch = *run.BatchesOf(1)[0];
  ASSERT_EQ(batch.collectives.size(), 2u);
  EXPECT_EQ(batch.collectives[0].sequence, 0u);
  EXPECT_EQ(batch.collectives[1].sequence, 1u);
  EXPECT_EQ(batch.collectives[1].bytes, uint64_t{1} << 24);
}

TEST(JobEngine, LaterStagesStandInABubble) {
  EngineHarness harness;
  harness.job.layout.pipeline = 3;
  const auto stage = [&](bool first, bool last) {
    HandmadeProgram writer(harness.catalog);
    if (!first) writer.Receive(-1, 1 << 20, 0).Await(0);
    writer.Kernel("forward", kMillisecond);
    if (!last) writer.Send(1, 1 << 20, 1);
    return writer.Synchronize().program();
  };
  harness.programs = {stage(true, false), stage(false, false), stage(false, true)};
  const EngineRun run = harness.Run();
  Transfer transfer;
  TransferModel(harness.job.fabric)
      .PointToPoint(1 << 20, {.device = 0}, {.device = 1}, {}, false, transfer);
  const int64_t moves = transfer.duration_ns;
  EXPECT_EQ(run.Of(0, "forward")[0].start_ns, kLaunch);
  EXPECT_EQ(run.Of(1, "forward")[0].start_ns, kLaunch + kMillisecond + moves);
  EXPECT_EQ(run.Of(2, "forward")[0].start_ns, kLaunch + 2 * (kMillisecond + moves));
  EXPECT_EQ(run.Of(2, "recv")[0], (Interval{kLaunch, kLaunch + 2 * (kMillisecond + moves),
                                            "nccl recv", "nccl pipeline receive previous"}));
  EXPECT_EQ(run.BatchesOf(2)[0]->collectives[0].peer, 1);
  EXPECT_EQ(run.BatchesOf(1)[0]->collectives[0].operation, CollectiveOperation::kRecv);
  EXPECT_EQ(run.BatchesOf(1)[0]->collectives[1].operation, CollectiveOperation::kSend);
  EXPECT_EQ(run.BatchesOf(1)[0]->collectives[1].peer, 2);
}

TEST(JobEngine, OfTwoStagesBothWaysMeetInTheOrderOfOperations) {
  EngineHarness harness;
  harness.job.layout.pipeline = 2;
  harness.job.layout.virtual_stages = 2;
  HandmadeProgram first(harness.catalog);
  first.Send(1, 1 << 20, 0).Receive(-1, 1 << 20, 1).Await(1).Send(-1, 1 << 21, 2).Synchronize();
  HandmadeProgram second(harness.catalog);
  second.Receive(-1, 1 << 20, 0).Await(0).Send(1, 1 << 20, 1).Receive(1, 1 << 21, 2).Synchronize();
  harness.programs = {first.program(), second.program()};
  const EngineRun run = harness.Run();
  EXPECT_FALSE(run.report.hangs);
  const std::vector<Interval> sends = run.Of(0, "send");
  const std::vector<Interval> receives = run.Of(1, "recv");
  ASSERT_EQ(sends.size(), 2u);
  ASSERT_EQ(receives.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(sends[i].end_ns, receives[i].end_ns);
  std::vector<uint64_t> sequences;
  for (const Collective& row : run.BatchesOf(1)[0]->collectives) {
    if (row.operation == CollectiveOperation::kRecv) sequences.push_back(row.sequence);
  }
  EXPECT_THAT(sequences, testing::ElementsAre(0, 1));
}

TEST(JobEngine, FramesHoldWhatTheyCall) {
  EngineHarness harness;
  HandmadeProgram writer(harness.catalog);
  writer.Enter("main > step")
      .Host("main > step > load", 500)
      .Enter("main > step > forward")
      .Kernel("matmul", 100)
      .Leave()
      .Leave();
  harness.programs = {writer.program()};
  const EngineRun run = harness.Run();
  EXPECT_THAT(run.Of(0), testing::ElementsAre(Interval{0, 1'500, "step", "training thread"},
                                              Interval{0, 500, "load", "training thread"},
                                              Interval{500, 1'500, "forward", "training thread"},
                                              Interval{1'500, 1'600, "matmul", "compute"}));
  const EventBatch& batch = run.batches[0];
  EXPECT_EQ(batch.functions[batch.functions[batch.intervals.function[1]].parent].name, "step");
}

TEST(JobEngine, OccasionsComeInTheLastStepOfEachPeriod) {
  EngineHarness harness;
  harness.job.steps = 6;
  HandmadeProgram writer(harness.catalog);
  writer.Host("step", 1'000).Host("checkpoint", 50'000).Every(3);
  harness.programs = {writer.program()};
  const EngineRun run = harness.Run();
  std::vector<int64_t> starts;
  for (const Interval& interval : run.Of(0, "checkpoint")) starts.push_back(interval.start_ns);
  EXPECT_THAT(starts, testing::ElementsAre(3'000, 56'000));
  EXPECT_THAT(run.progress_steps, testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(JobEngine, InsertionsComeFirstInTheirPhase) {
  EngineHarness harness;
  harness.programs = {harness.DataParallelStep()};
  harness.job.layout.data = 2;
  harness.job.steps = 2;
  const uint32_t collect = harness.catalog.AddStack("gc.py: callback > collect");
  harness.effects.script = [&](uint32_t rank, uint32_t step, StepEffects& effects) {
    if (rank == 1 && step == 1)
      effects.insertions.push_back(
          {.phase = Phase::kGradients, .function = collect, .duration_ns = 7 * kMillisecond});
  };
  const EngineRun run = harness.Run();
  EXPECT_TRUE(run.Of(0, "collect").empty());
  const std::vector<Interval> found = run.Of(1, "collect");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].end_ns - found[0].start_ns, 7 * kMillisecond);
  EXPECT_EQ(run.Of(1, "all_reduce")[1].start_ns, found[0].end_ns + kLaunch);
  const EventBatch& batch = *run.BatchesOf(1)[1];
  EXPECT_EQ(batch.functions.back().name, "collect");
  EXPECT_EQ(batch.functions[batch.functions.back().parent].name, "gc.py: callback");
}

TEST(JobEngine, TheJobRestsBetweenTwoSteps) {
  EngineHarness harness;
  harness.programs = {harness.DataParallelStep()};
  harness.job.layout.data = 2;
  harness.job.steps = 3;
  harness.job.workload.pause_at_step = 1;
  harness.job.workload.pause_ns = 60'000 * kMillisecond;
  const EngineRun run = harness.Run();
  EXPECT_EQ(run.report.step_ns[1], run.report.step_ns[0] + 60'000 * kMillisecond);
  EXPECT_EQ(run.report.step_ns[2], run.report.step_ns[0]);
}

TEST(JobEngine, CollectivesAloneAtTheLowestLevel) {
  EngineHarness harness;
  harness.programs = {harness.DataParallelStep()};
  harness.job.layout.data = 2;
  const EngineRun all = harness.Run();
  harness.job.telemetry.level = CaptureLevel::kCollectives;
  harness.job.telemetry.launches = true;
  harness.job.telemetry.sample_period_ns = 1'000;
  const EngineRun run = harness.Run();
  EXPECT_EQ(run.Of(1), all.Of(1, "nccl"));
  EXPECT_EQ(run.batches[1].marks, all.batches[1].marks);
  EXPECT_TRUE(run.batches[1].samples.empty());
}

TEST(JobEngine, LaunchesAreCallsOfTheTrainingThread) {
  EngineHarness harness;
  harness.programs = {harness.DataParallelStep()};
  harness.job.layout.data = 2;
  harness.job.telemetry.launches = true;
  const EngineRun run = harness.Run();
  EXPECT_THAT(
      run.Of(0, "cudaLaunchKernel"),
      testing::ElementsAre(Interval{0, kLaunch, "cudaLaunchKernel", "training thread"},
                           Interval{kLaunch, 2 * kLaunch, "cudaLaunchKernel", "training thread"}));
}

TEST(JobEngine, ASinkThatFailsEndsTheRun) {
  class FailingSink : public BatchSink {
    absl::Status Write(const EventBatch&) override { return absl::UnavailableError("full"); }
  } sink;
  EngineHarness harness;
  harness.programs = {harness.DataParallelStep()};
  harness.job.layout.data = 2;
  EXPECT_EQ(harness.RunInto(sink).status(), absl::UnavailableError("full"));
}

}  // namespace
}  // namespace eroica::simulate

// Jobs in which somebody stops: what the others do, and what producers say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/testing/not_empty.h"
#include "schemas/time_unit.h"
#include "tests/evaluation/simulate/engine_harness.h"
#include "tests/evaluation/simulate/hang_report.h"
#include "tests/evaluation/simulate/job_engine.h"

namespace eroica::simulate {
namespace {

struct Standstill : testing::Test {
  // Stops one rank in a step of a job of data-parallel training.
  EngineRun Stopped(Stop stop, uint32_t rank, uint32_t step, Phase phase) {
    harness.job.layout.data = 3;
    harness.job.steps = 5;
    harness.programs = {harness.DataParallelStep()};
    const uint32_t function = harness.catalog.AddStack("loader.py: put > lock");
    harness.effects.script = [=](uint32_t of_rank, uint32_t of_step, StepEffects& effects) {
      if (of_rank != rank || of_step < step) return;
      effects.stop = stop;
      effects.stop_phase = phase;
      effects.stop_function = function;
    };
    return harness.Run();
  }
  static std::vector<ProgressReport> ReportsOf(const EngineRun& run, uint32_t rank) {
    std::vector<ProgressReport> reports;
    for (const EventBatch* batch : run.BatchesOf(rank))
      reports.insert(reports.end(), batch->progress.begin(), batch->progress.end());
    return reports;
  }
  static std::string FunctionOf(const EngineRun& run, uint32_t rank) {
    const EventBatch& batch = *run.BatchesOf(rank).back();
    return batch.functions[batch.progress.back().function].name;
  }

  EngineHarness harness;
};

TEST_F(Standstill, AThreadThatNeverComesBackLeavesTheOthersWaitingForIt) {
  const EngineRun run = Stopped(Stop::kHostHangs, 1, 2, Phase::kGradients);
  EXPECT_TRUE(run.report.hangs);
  EXPECT_EQ(run.report.steps, 2u);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const std::vector<ProgressReport> reports = ReportsOf(run, rank);
    ASSERT_EQ(reports.size(), 30u);
    EXPECT_EQ(reports[1].time_ns - reports[0].time_ns, kNsPerSecond);
    EXPECT_EQ(reports[0].step, 2);
    EXPECT_TRUE(run.BatchesOf(rank).back()->final);
    if (rank == 1) {
      EXPECT_TRUE(reports[0].in_flight.empty());
      EXPECT_EQ(FunctionOf(run, rank), "lock");
      continue;
    }
    ASSERT_EQ(reports[0].in_flight.size(), 1u);
    const InFlightCollective& flight = reports[0].in_flight[0];
    EXPECT_EQ(flight.operation, CollectiveOperation::kAllReduce);
    EXPECT_EQ(flight.sequence, 2u);
    EXPECT_TRUE(flight.started);
    EXPECT_LT(flight.launched_ns, reports[0].time_ns);
    EXPECT_EQ(FunctionOf(run, rank), "cudaDeviceSynchronize");
  }
  EXPECT_EQ(run.Of(1, "matmul").size(), 3u);      // what it launched before still ran
  EXPECT_EQ(run.Of(0, "all_reduce").size(), 2u);  // what has not ended is no interval
}

TEST_F(Standstill, AnotherOperationThanThePeersNeverEnds) {
  const EngineRun run = Stopped(Stop::kWrongCollective, 0, 1, Phase::kForward);
  EXPECT_TRUE(run.report.hangs);
  EXPECT_EQ(run.report.steps, 1u);
  const InFlightCollective wrong = ReportsOf(run, 0).front().in_flight.at(0);
  const InFlightCollective right = ReportsOf(run, 2).front().in_flight.at(0);
  EXPECT_EQ(wrong.operation, CollectiveOperation::kAllGather);
  EXPECT_EQ(wrong.sequence, 0u);
  EXPECT_EQ(right.operation, CollectiveOperation::kAllReduce);
  EXPECT_EQ(right.sequence, 1u);
  EXPECT_TRUE(wrong.started);
  EXPECT_TRUE(right.started);
}

TEST_F(Standstill, ATransferThatStandsStillHasStartedEverywhere) {
  const EngineRun run = Stopped(Stop::kTransferHangs, 2, 1, Phase::kGradients);
  EXPECT_TRUE(run.report.hangs);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const InFlightCollective flight = ReportsOf(run, rank).front().in_flight.at(0);
    EXPECT_TRUE(flight.started);
    EXPECT_EQ(flight.sequence, 1u);
  }
}

// Of the first report of a rank.
std::vector<ConnectionSample> ConnectionsOf(const EngineRun& run, uint32_t rank) {
  for (const EventBatch* batch : run.BatchesOf(rank)) {
    if (!batch->progress.empty()) return batch->connections;
  }
  return {};
}

TEST_F(Standstill, OnlyTheTransportThatBrokeHasSendsOutstanding) {
  const EngineRun run = Stopped(Stop::kTransferHangs, 2, 1, Phase::kGradients);
  bool from = false;
  bool to = false;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    for (const ConnectionSample& sample : NotEmpty(ConnectionsOf(run, rank))) {
      EXPECT_TRUE(rank == 2 || sample.peer == 2) << rank << " to " << sample.peer;
      EXPECT_EQ(sample.bytes, 0u);
      EXPECT_EQ(sample.busy_ns, kNsPerSecond);
      from = from || rank == 2;
      to = to || sample.peer == 2;
    }
  }
  EXPECT_TRUE(from);
  EXPECT_TRUE(to);
}

TEST_F(Standstill, WhoWaitsForALateMemberHasNothingOutstanding) {
  const EngineRun run = Stopped(Stop::kHostHangs, 1, 2, Phase::kGradients);
  for (uint32_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(ConnectionsOf(run, rank).empty());
}

TEST_F(Standstill, WithoutConnectionsNoneAreReported) {
  harness.job.telemetry.connections = false;
  const EngineRun run = Stopped(Stop::kTransferHangs, 2, 1, Phase::kGradients);
  for (uint32_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(ConnectionsOf(run, rank).empty());
}

TEST_F(Standstill, WhoDiesSaysNothingMore) {
  const EngineRun run = Stopped(Stop::kDies, 1, 2, Phase::kGradients);
  EXPECT_TRUE(run.report.hangs);
  EXPECT_EQ(run.BatchesOf(1).size(), 2u);
  EXPECT_FALSE(run.BatchesOf(1).back()->final);
  EXPECT_TRUE(ReportsOf(run, 1).empty());
  EXPECT_EQ(ReportsOf(run, 0).size(), 30u);
}

TEST_F(Standstill, TheThreadGoesOnLaunchingBehindACollectiveThatItDoesNotWaitFor) {
  harness.job.layout.data = 2;
  HandmadeProgram writer(harness.catalog);
  writer.Kernel("before", 1'000)
      .AllReduce(GroupKind::kData, 1024, 0)
      .Await(0)
      .Kernel("after", 1'000)
      .AllGather(GroupKind::kData, 1024, 1);
  writer.Host("log", 5'000).Synchronize();
  harness.programs = {writer.program()};
  harness.effects.script = [](uint32_t rank, uint32_t, StepEffects& effects) {
    if (rank == 0) effects.stop = Stop::kDies;
  };
  const EngineRun run = harness.Run();
  const std::vector<ProgressReport> reports = ReportsOf(run, 1);
  ASSERT_EQ(reports.size(), 30u);
  ASSERT_EQ(reports[0].in_flight.size(), 2u);
  EXPECT_TRUE(reports[0].in_flight[0].started);
  EXPECT_EQ(reports[0].in_flight[0].operation, CollectiveOperation::kAllReduce);
  EXPECT_FALSE(reports[0].in_flight[1].started);
  EXPECT_EQ(FunctionOf(run, 1), "cudaDeviceSynchronize");
  EXPECT_EQ(run.Of(1, "before").size(), 1u);
  EXPECT_TRUE(run.Of(1, "after").empty());
  EXPECT_EQ(run.Of(1, "log").size(), 1u);
}

TEST_F(Standstill, WhoNeedsNobodyGoesOn) {
  // Two tensor groups that never meet; in one of them a rank dies.
  harness.job.layout.tensor = 2;
  harness.job.layout.data = 2;
  harness.job.steps = 4;
  HandmadeProgram writer(harness.catalog);
  writer.Kernel("matmul", 1'000).AllReduce(GroupKind::kTensor, 1024, 0).Synchronize();
  harness.programs = {writer.program()};
  harness.effects.script = [](uint32_t rank, uint32_t step, StepEffects& effects) {
    if (rank == 0 && step == 1) effects.stop = Stop::kDies;
  };
  const EngineRun run = harness.Run();
  EXPECT_TRUE(run.report.hangs);
  EXPECT_EQ(run.report.steps, 1u);
  EXPECT_EQ(run.Of(2, "matmul").size(), 4u);
  EXPECT_EQ(run.Of(1, "matmul").size(), 2u);
  EXPECT_TRUE(run.BatchesOf(3).back()->final);
  EXPECT_TRUE(run.BatchesOf(3).back()->progress.empty());
  EXPECT_TRUE(run.BatchesOf(1).back()->final);
  EXPECT_EQ(ReportsOf(run, 1).size(), 30u);
}

TEST_F(Standstill, ADeathThatNobodyNoticesIsNoHang) {
  harness.job.layout.data = 2;
  harness.job.steps = 2;
  HandmadeProgram writer(harness.catalog);
  writer.Kernel("matmul", 1'000).Synchronize();
  harness.programs = {writer.program()};
  harness.effects.script = [](uint32_t rank, uint32_t, StepEffects& effects) {
    if (rank == 0) effects.stop = Stop::kDies;
  };
  const EngineRun run = harness.Run();
  EXPECT_FALSE(run.report.hangs);
  EXPECT_TRUE(run.BatchesOf(0).empty());
  EXPECT_TRUE(run.BatchesOf(1).back()->final);
}

}  // namespace
}  // namespace eroica::simulate

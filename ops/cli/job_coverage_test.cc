#include "ops/cli/job_coverage.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/cli/pattern_log.h"
#include "schemas/test_encoder.h"
#include "schemas/time_unit.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

constexpr int64_t kStepMs = 100;

class JobCoverageTest : public ::testing::Test {
 protected:
  // Steps of 100 ms from 0 on; the rank waits for others for so long in each; one of them may take
  // a second.
  void Report(uint32_t rank, const std::vector<int64_t>& waits_ms,
              const std::vector<SuspendedCapture>& suspended = {}, size_t long_step = 1'000,
              int64_t processor_wait_ms = 0) {
    PatternBatch batch;
    batch.host = rank < 2 ? "one" : "other";
    batch.job = JobId{"job"};
    batch.rank = RankId{rank};
    batch.world_size = 4;
    batch.window = {.kind = WindowKind::kSteps,
                    .index = 0,
                    .start_ns = 0,
                    .end_ns = kStepMs * kNsPerMs * static_cast<int64_t>(waits_ms.size()),
                    .first_step = 0,
                    .last_step = static_cast<int64_t>(waits_ms.size()) - 1};
    for (const int64_t wait_ms : waits_ms)
      batch.steps.push_back(
          {.id = static_cast<int64_t>(batch.steps.size()),
           .duration_ns = kNsPerMs * (batch.steps.size() == long_step ? 10 * kStepMs : kStepMs),
           .peer_wait_ns = wait_ms * kNsPerMs});
    if (processor_wait_ms > 0) {
      FunctionPattern wait;
      wait.function = HashFunction(FunctionClass::kPython, "wait", FunctionId{0});
      wait.name = "(runnable, waiting for a processor)";
      wait.function_class = FunctionClass::kPython;
      wait.critical_ns = wait.total_ns =
          processor_wait_ms * kNsPerMs * static_cast<int64_t>(waits_ms.size());
      batch.patterns = {wait};
    }
    batch.suspended = suspended;
    log_.Append(encoder_.Encode(batch));
  }

  // A window of eight steps of a process of rank 0; its clock is ahead by so much.
  void ReportFrom(const std::string& host, int64_t index, int64_t ahead_ms = 0) {
    PatternBatch batch;
    batch.job = JobId{"job"};
    batch.host = host;
    batch.pid = 7;
    const int64_t start_ns = (ahead_ms + index * 8 * kStepMs) * kNsPerMs;
    batch.window = {.kind = WindowKind::kSteps,
                    .index = index,
                    .start_ns = start_ns,
                    .end_ns = start_ns + 8 * kStepMs * kNsPerMs,
                    .first_step = index * 8,
                    .last_step = index * 8 + 7};
    for (int64_t step = 0; step < 8; ++step)
      batch.steps.push_back({.id = index * 8 + step, .duration_ns = kStepMs * kNsPerMs});
    log_.Append(encoder_.Encode(batch));
  }

  // Ranks 0 and 1 were in collectives of a communicator for so long at the same time; rank 2, which
  // is in it too, reports nothing.
  void ReportTogether(int64_t together_ms) {
    CollectiveSummary summary;
    summary.job = JobId{"job"};
    summary.communicator = CommId{1};
    summary.world_size = 4;
    summary.members = {{.rank = RankId{0}}, {.rank = RankId{1}}};
    summary.transfer_ns = together_ms * kNsPerMs;
    summary.missing = {RankId{2}};
    log_.Append(encoder_.Encode(summary));
  }

  // Rank 2 receives from rank 1 of the other host, and from 3 of its own.
  void ReportPairs(int64_t between_ms, int64_t within_ms) {
    CollectiveSummary summary;
    summary.job = JobId{"job"};
    summary.communicator = CommId{2};
    summary.world_size = 4;
    const auto pair = [](uint32_t source, int64_t ms) {
      return PairSummary{.source = RankId{source},
                         .destination = RankId{2},
                         .count = 1,
                         .receive_wait_ns = ms * kNsPerMs,
                         .transfer_ns = ms * kNsPerMs};
    };
    summary.pairs = {pair(1, between_ms), pair(3, within_ms)};
    log_.Append(encoder_.Encode(summary));
  }

  JobCoverage Measure() {
    absl::StatusOr<JobCoverage> coverage =
        MeasureJobCoverage(log_.log(), std::string(kDefaultTopicPrefix));
    EXPECT_TRUE(coverage.ok()) << coverage.status();
    return coverage.ok() ? *coverage : JobCoverage();
  }

 private:
  PatternLog log_;
  TestEncoder encoder_;
};

TEST_F(JobCoverageTest, AStepThatTakesLongIsOfTheRankThatIsBusyInIt) {
  Report(0, {0, 0, 0, 0, 950, 0, 0, 0}, {}, 4);
  Report(1, {0, 0, 0, 0, 10, 0, 0, 0}, {}, 4);
  const LongSteps of_one = Measure().long_steps;
  EXPECT_EQ(of_one.steps, 1u);
  EXPECT_EQ(of_one.of_all, 5u) << "without warm-up";
  EXPECT_EQ(of_one.rank, 1);
  EXPECT_NEAR(of_one.share, 900.0 / 1400, 1e-9);
}

TEST_F(JobCoverageTest, WhatARankWorksOnThatNobodyRecorded) {
  Report(0, {80, 80, 80, 80});
  Report(1, {30, 30, 30, 30});
  Report(2, {90, 90, 90, 90});
  const RankWithMost work = Measure().unrecorded;
  EXPECT_EQ(work.rank, 1u);
  EXPECT_EQ(work.ns, 70e6);
  EXPECT_EQ(work.others_ns, 15e6);
  EXPECT_EQ(Measure().busiest.rank, 1u);
  EXPECT_EQ(Measure().busiest.ns, 70e6);
  EXPECT_EQ(Measure().busiest.others_ns, 15e6);
  EXPECT_EQ(Measure().busiest.next_ns, 20e6);
}

// A rank that loads the model and writes a log at first has no more to do than the others.
TEST_F(JobCoverageTest, RanksAreComparedWithoutTheirWarmUp) {
  Report(0, {0, 0, 0, 50, 52});
  Report(1, {90, 90, 90, 51, 51});
  const RankWithMost busiest = Measure().busiest;
  EXPECT_NEAR(busiest.ns, 49e6, 1);
  EXPECT_NEAR(busiest.others_ns, 49e6, 1);
  EXPECT_EQ(Measure().wait_ns, 51e6);
  EXPECT_EQ(Measure().steps, 5u) << "all were recorded";
}

TEST_F(JobCoverageTest, WhereProcessorsAreShortToWaitForThemIsNoWork) {
  Report(0, {50, 50, 50, 50, 50}, {}, 1'000, 14);
  Report(1, {60, 60, 60, 60, 60}, {}, 1'000, 10);
  const RankWithMost busiest = Measure().busiest;
  EXPECT_EQ(busiest.rank, 0u);
  EXPECT_NEAR(busiest.ns, 46e6, 1);
  EXPECT_NEAR(busiest.others_ns, 40e6, 1);
}

// Of the waits it is not known in which steps they came: more of them make no other rank busier.
TEST_F(JobCoverageTest, LongWaitsForAProcessorMakeNoOtherRankBusier) {
  Report(0, {50, 50, 50, 50, 50}, {}, 1'000, 90);
  Report(1, {60, 60, 60, 60, 60}, {}, 1'000, 10);
  const RankWithMost busiest = Measure().busiest;
  EXPECT_EQ(busiest.ns, busiest.others_ns);
}

TEST_F(JobCoverageTest, WhereOneRankAloneWaitsForAProcessorItIsBusier) {
  Report(0, {50, 50, 50, 50, 50}, {}, 1'000, 20);
  Report(1, {60, 60, 60, 60, 60});
  Report(2, {60, 60, 60, 60, 60});
  EXPECT_EQ(Measure().busiest.rank, 0u);
  EXPECT_NEAR(Measure().busiest.ns, 50e6, 1);
}

TEST_F(JobCoverageTest, AStepInWhichAllWaitIsNobodys) {
  Report(0, {0, 0, 0, 0, 950, 0, 0, 0}, {}, 4);
  Report(1, {0, 0, 0, 0, 940, 0, 0, 0}, {}, 4);
  EXPECT_EQ(Measure().long_steps.steps, 1u);
  EXPECT_EQ(Measure().long_steps.rank, -1);
}

TEST_F(JobCoverageTest, WarmUpIsNoLongStep) {
  Report(0, {0, 0, 0, 0, 0, 0, 0, 0}, {}, 1);
  EXPECT_EQ(Measure().long_steps.steps, 0u);
}

TEST_F(JobCoverageTest, RanksThatAllWaitHaveThatInCommon) {
  Report(0, {50, 60});
  Report(1, {40, 70});
  const JobCoverage coverage = Measure();
  EXPECT_EQ(coverage.missing_ranks(), (std::vector<uint32_t>{2, 3}));
  EXPECT_DOUBLE_EQ(coverage.step_ns, kStepMs * kNsPerMs);
  EXPECT_DOUBLE_EQ(coverage.wait_ns, 55 * kNsPerMs);
  EXPECT_DOUBLE_EQ(coverage.common_wait_ns, 50 * kNsPerMs) << "40 in the one step, 60 in the other";
}

TEST_F(JobCoverageTest, WhereSomeRankHardlyWaitsInEachStepNothingIsInCommon) {
  Report(0, {50, 1});
  Report(1, {1, 50});
  const JobCoverage coverage = Measure();
  EXPECT_DOUBLE_EQ(coverage.wait_ns, 25.5 * kNsPerMs) << "each waits for the other one";
  EXPECT_DOUBLE_EQ(coverage.common_wait_ns, 1 * kNsPerMs);
}

// One is late to the data, the other one to the gradients: each waits, and never both at once.
TEST_F(JobCoverageTest, RanksThatWaitForEachOtherWithinAStepDoNotWaitAtOnce) {
  Report(0, {50, 60});
  Report(1, {40, 70});
  ReportTogether(14);
  const JobCoverage coverage = Measure();
  EXPECT_DOUBLE_EQ(coverage.wait_ns, 55 * kNsPerMs);
  EXPECT_DOUBLE_EQ(coverage.common_wait_ns, 7 * kNsPerMs) << "14 ms of two steps";
}

TEST_F(JobCoverageTest, RanksOfWhichFewerStepsWereRecordedAreKnown) {
  Report(0, {1});
  Report(1, {1, 1, 1});
  Report(2, {1, 1, 1});
  Report(3, {1, 1});
  const JobCoverage coverage = Measure();
  EXPECT_EQ(coverage.steps, 3);
  ASSERT_EQ(coverage.partly.size(), 2);
  EXPECT_EQ(coverage.partly[0].rank, 0);
  EXPECT_EQ(coverage.partly[0].steps, 1);
  EXPECT_EQ(coverage.partly[1].rank, 3);
  EXPECT_EQ(coverage.partly[1].steps, 2);
}

TEST_F(JobCoverageTest, OfNothingNothingIsKnown) {
  const JobCoverage coverage = Measure();
  EXPECT_TRUE(coverage.ranks.empty());
  EXPECT_EQ(coverage.step_ns, 0);
  EXPECT_EQ(coverage.common_wait_ns, 0);
}

TEST_F(JobCoverageTest, ACaptureThatStoodStillIsKnownByRankAndShare) {
  const SuspendedCapture half = {.gap = {CaptureKind::kCollectives, 0},
                                 .suspended_ns = kStepMs * kNsPerMs};
  Report(0, {10, 10}, {half});
  Report(1, {10, 10});
  Report(3, {10, 10, 10, 10}, {half});
  const JobCoverage coverage = Measure();
  ASSERT_EQ(coverage.stopped.size(), 1u);
  const StoppedCapture& stopped = coverage.stopped[0];
  EXPECT_EQ(stopped.gap, half.gap);
  EXPECT_EQ(stopped.ranks, (std::vector<uint32_t>{0, 3}));
  EXPECT_DOUBLE_EQ(stopped.share, 0.5);
  EXPECT_EQ(stopped.first_step, 0);
  EXPECT_EQ(stopped.last_step, 3);
}

TEST_F(JobCoverageTest, WhatTakesANetworkIsWhatAnotherHostSends) {
  for (const uint32_t rank : {0u, 1u, 2u, 3u}) Report(rank, {0, 0, 0, 0});
  ReportPairs(60, 200);
  EXPECT_DOUBLE_EQ(Measure().between_hosts_ns, 15.0 * kNsPerMs) << "a step";
}

TEST_F(JobCoverageTest, ARankThatTwoHostsHaveAtOnceIsContested) {
  for (int64_t index = 0; index < 4; ++index) {
    ReportFrom("b", index);
    ReportFrom("a", index, 50'000);
  }
  const JobCoverage coverage = Measure();
  ASSERT_EQ(coverage.contested.size(), 1u);
  EXPECT_EQ(coverage.contested[0].rank, 0u);
  EXPECT_EQ(coverage.contested[0].processes, 2u);
  EXPECT_EQ(coverage.contested[0].hosts, (std::vector<std::string>{"a", "b"}));
}

TEST_F(JobCoverageTest, ARankThatMovesToAnotherHostIsNot) {
  for (int64_t index = 0; index < 4; ++index) ReportFrom("a", index);
  for (int64_t index = 0; index < 4; ++index) ReportFrom("b", index, 2'000);
  EXPECT_TRUE(Measure().contested.empty());
}

TEST_F(JobCoverageTest, WaitsAreSeenWhereAnyRankWaitedOrACollectiveWas) {
  Report(0, {0, 0});
  EXPECT_FALSE(Measure().sees_waits);
  Report(1, {0, 5});
  EXPECT_TRUE(Measure().sees_waits);
}

}  // namespace
}  // namespace eroica

#include "stream_ops/diagnose/window_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/measurements/training_view.h"
#include "schemas/time_unit.h"
#include "stream_ops/diagnose/job_row.h"

namespace eroica {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WindowSnapshot Snapshot(TrainingView& job, const SnapshotLimits& limits = {}) {
  const CrossRankView view(job.batches(), job.summaries());
  return TakeSnapshot(view, SummarizeWindow(view, {.warm_up = 3}, 77), limits);
}

// Rank 2 of 4 is slow in the small function.
TrainingView SlowRank() {
  TrainingView job(4);
  job.RunOnAll("forward", 20).Run(2, "slow", 5).Finish();
  return job;
}

TEST(WindowSnapshotTest, SummaryNamesStepsRanksAndTime) {
  TrainingView job = SlowRank();
  job.batches()[3].silent = true;
  job.batches()[3].steps.clear();
  const WindowSummary summary = Snapshot(job).summary;
  EXPECT_EQ(summary.kind, WindowKind::kSteps);
  EXPECT_EQ(summary.ranks_seen, 3U);
  EXPECT_EQ(summary.ranks_silent, 1U);
  EXPECT_EQ(summary.world_size, 4U);
  EXPECT_EQ(summary.first_step, 0);
  EXPECT_EQ(summary.last_step, 7);
  EXPECT_EQ(summary.median_step_ns, 25 * kNsPerMs);
  EXPECT_EQ(summary.timestamp_ms, 77);
  EXPECT_EQ(summary.suppressed.warm_up, 3U);
  EXPECT_EQ(summary.functions, 2U);
  EXPECT_FALSE(summary.last_of_job);
}

TEST(WindowSnapshotTest, AFunctionWithoutARowHadLessThanItsClassFoldedAndThanARowTakes) {
  TrainingView job = SlowRank();  // eight steps of 25 ms
  auto& folded = job.batches()[0].folded_critical_ns;
  folded[static_cast<size_t>(FunctionClass::kGpuCompute)] = 80 * kNsPerMs;
  folded[static_cast<size_t>(FunctionClass::kPython)] = 4 * kNsPerMs;
  const WindowSnapshot snapshot = Snapshot(job, {.fold_below = 0.1});
  const RankRow& rank = snapshot.detail->ranks[0];
  EXPECT_FLOAT_EQ(rank.unlisted_ns_per_step[static_cast<size_t>(FunctionClass::kGpuCompute)],
                  2.5 * kNsPerMs);
  EXPECT_FLOAT_EQ(rank.unlisted_ns_per_step[static_cast<size_t>(FunctionClass::kPython)],
                  0.5 * kNsPerMs);
  EXPECT_EQ(rank.unlisted_ns_per_step[static_cast<size_t>(FunctionClass::kCollective)], 0);
}

TEST(WindowSnapshotTest, StepsNameTheRankThatIsBusyLongest) {
  TrainingView job = SlowRank();
  const StepColumns steps = Snapshot(job).steps;
  EXPECT_THAT(steps.step, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(steps.median_ns, Each(25 * kNsPerMs));
  EXPECT_THAT(steps.busy_median_ns, Each(20 * kNsPerMs));
  EXPECT_THAT(steps.busy_max_ns, Each(25 * kNsPerMs));
  EXPECT_THAT(steps.busiest_rank, Each(2U));
}

TEST(WindowSnapshotTest, OnlyTheNewestStepsAreTaken) {
  TrainingView job = SlowRank();
  const StepColumns steps = Snapshot(job, {.steps = 3}).steps;
  EXPECT_THAT(steps.step, ElementsAre(5, 6, 7));
  EXPECT_THAT(steps.busiest_rank, Each(2U));
}

TEST(WindowSnapshotTest, ASampleOfTheRanksStillNamesTheBusiestOfAll) {
  TrainingView job(9);
  job.RunOnAll("forward", 10).Run(7, "slow", 4).Finish();
  const StepColumns steps = Snapshot(job, {.sampled_ranks = 2}).steps;
  EXPECT_THAT(steps.busiest_rank, Each(7U));
  EXPECT_THAT(steps.busy_median_ns, Each(10 * kNsPerMs));
}

TEST(WindowSnapshotTest, FunctionsAreColumnsLargestFirst) {
  TrainingView job = SlowRank();
  const auto detail = Snapshot(job).detail;
  ASSERT_THAT(detail->functions, SizeIs(2));
  EXPECT_EQ(detail->functions[0].name, "forward");
  EXPECT_THAT(detail->functions[0].rank, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(detail->functions[0].critical_ns_per_step, Each(20.0F * kNsPerMs));
  EXPECT_EQ(detail->functions[1].name, "slow");
  EXPECT_THAT(detail->functions[1].rank, ElementsAre(2));
  EXPECT_THAT(detail->functions[1].count, ElementsAre(8));
}

TEST(WindowSnapshotTest, AFunctionThatHoldsOneRankUpIsNoSmallOne) {
  TrainingView job(4);
  job.RunOnAll("forward", 20).Run(2, "stuck", 30).Finish();
  const WindowSnapshot one = Snapshot(job, {.functions = 1});
  ASSERT_THAT(one.detail->functions, SizeIs(1));
  EXPECT_EQ(one.detail->functions[0].name, "stuck");
}

TEST(WindowSnapshotTest, SmallFunctionsAreDroppedAndCountedWhereThereIsNoRoom) {
  TrainingView job = SlowRank();
  const WindowSnapshot few_rows = Snapshot(job, {.function_rows = 4});
  EXPECT_THAT(few_rows.detail->functions, SizeIs(1));
  EXPECT_EQ(few_rows.summary.functions_dropped, 1U);
  const WindowSnapshot one = Snapshot(job, {.functions = 1});
  ASSERT_THAT(one.detail->functions, SizeIs(1));
  EXPECT_EQ(one.detail->functions[0].name, "forward");
}

TEST(WindowSnapshotTest, RanksCarryTheirExcessOverTheirPeers) {
  TrainingView job = SlowRank();
  job.Role(0, "stage 0");
  const auto detail = Snapshot(job).detail;
  ASSERT_THAT(detail->ranks, SizeIs(4));
  const RankRow& slow = detail->ranks[2];
  EXPECT_EQ(slow.rank, 2U);
  EXPECT_EQ(slow.busy_ns, 25 * kNsPerMs);
  EXPECT_EQ(slow.peers_busy_ns, 20 * kNsPerMs);
  EXPECT_EQ(slow.excess_ns, 5 * kNsPerMs);
  EXPECT_EQ(detail->hosts[slow.host], "host0");
  EXPECT_EQ(detail->role_names[detail->ranks[0].role_name], "stage 0");
}

TEST(WindowSnapshotTest, LinksOfSeveralCommunicatorsAreOne) {
  TrainingView job = SlowRank();
  job.batches()[1].connections = {
      {.peer = 0, .bytes = 10, .busy_ns = 1, .communicator = CommId{1}},
      {.peer = 0, .bytes = 20, .busy_ns = 2, .retransmits = 4, .communicator = CommId{2}},
      {.peer = 0, .resource = Resource::kNvlink, .bytes = 5, .busy_ns = 1},
      {.peer = 3, .bytes = 7, .busy_ns = 1}};
  const auto detail = Snapshot(job).detail;
  ASSERT_THAT(detail->links, SizeIs(3));
  EXPECT_EQ(detail->links[0].bytes, 30U);
  EXPECT_EQ(detail->links[0].retransmits, 4U);
  const auto few = Snapshot(job, {.links = 2}).detail;
  ASSERT_THAT(few->links, SizeIs(2));
  EXPECT_EQ(few->links[0].bytes, 30U);
  EXPECT_EQ(few->links[1].destination, 3U);
  EXPECT_EQ(few->links_dropped, 1U);
}

TEST(WindowSnapshotTest, TheCommunicatorThatWasWaitedInMostComesFirst) {
  TrainingView job = SlowRank();
  job.AddSummary();
  CollectiveSummary& waited = job.AddSummary();
  waited.members = {{.rank = RankId{1}, .count = 4, .exposed_wait_ns = 9},
                    {.rank = RankId{2},
                     .count = 4,
                     .last_count = 3,
                     .caused_wait_ns = 9,
                     .blockers = {{.name = "slow"}, {.name = "other"}}}};
  waited.missing = {RankId{3}};
  const auto detail = Snapshot(job).detail;
  ASSERT_THAT(detail->communicators, SizeIs(2));
  const CommunicatorSnapshot& first = detail->communicators[0];
  EXPECT_EQ(first.description, "group2");
  EXPECT_THAT(first.missing, ElementsAre(3));
  EXPECT_EQ(first.members[1].blocker, "slow");
  EXPECT_EQ(first.members[0].blocker, "");
  EXPECT_GT(detail->bytes, sizeof(WindowDetail));
}

TEST(JobRowTest, IsReadAsItWasWritten) {
  TrainingView job = SlowRank();
  WindowSummary summary = Snapshot(job).summary;
  summary.last_of_job = true;
  summary.completeness = {.events = 1, .late = 2, .lost = 3, .sampled = 4, .outside = 5};
  summary.contested = {{.rank = 0, .processes = 2, .hosts = {"a", "b"}}, {.rank = 3}};
  const std::optional<WindowSummary> read = DecodeJobRow(EncodeJobRow(summary));
  ASSERT_TRUE(read);
  EXPECT_EQ(EncodeJobRow(*read), EncodeJobRow(summary));
  EXPECT_EQ(read->completeness, summary.completeness);
  EXPECT_EQ(read->contested, summary.contested);
  EXPECT_EQ(read->kind, WindowKind::kSteps);
  EXPECT_TRUE(read->last_of_job);
  EXPECT_EQ(read->suppressed.all(), 3U);
}

TEST(JobRowTest, ReadsRowsOfOlderVersionsAndRefusesOthers) {
  const auto old = DecodeJobRow(
      R"({"world_size":8,"ranks_seen":7,"roles":2,"window_kind":"time","last_window":5})");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->world_size, 8U);
  EXPECT_EQ(old->index, 5);
  EXPECT_FALSE(DecodeJobRow("[]"));
  EXPECT_FALSE(DecodeJobRow("{"));
  EXPECT_EQ(DecodeJobRow(R"({"world_size":"eight"})")->world_size, 0U);
  EXPECT_TRUE(DecodeJobRow(R"({"contested":[1,"a"]})")->contested.empty());
}

}  // namespace
}  // namespace eroica

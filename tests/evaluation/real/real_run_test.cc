#include "tests/evaluation/real/real_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/job_builder.h"

namespace eroica {
namespace {

using testing::BuildJob;
using ::testing::Contains;
using testing::JobFault;

RealJob SlowRankOne() {
  RealJob job{.name = "slow", .window_steps = {4, kWholeJob}};
  job.batches = BuildJob({.fault = JobFault::kSlowKernel, .culprit = 1});
  job.expected = {
      {.kinds = {FindingKind::kSlowRank}, .ranks = {1}, .functions = {testing::kMatrixKernel}}};
  return job;
}

TEST(RunReal, FindsTheCulpritOfAJobAsItIs) {
  const RealJob job = SlowRankOne();
  const auto run = RunReal(job, {.window_steps = 4, .ranks = RanksOf(job.batches)});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->verdict.outcome, RealOutcome::kRight);
  EXPECT_EQ(run->job, "slow");
  EXPECT_TRUE(run->culprit_recorded);
  EXPECT_FALSE(run->healthy);
  ASSERT_FALSE(run->said.empty());
  EXPECT_EQ(run->said[0].finding.world_size, job.batches[0].identity.world_size);
}

TEST(RunReal, AHealthyJobIsSilent) {
  RealJob job = SlowRankOne();
  job.batches = BuildJob({});
  job.expected.clear();
  const auto run = RunReal(job, {.ranks = RanksOf(job.batches)});
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(run->healthy);
  EXPECT_EQ(run->verdict.outcome, RealOutcome::kRight);
}

TEST(RunVariations, RunsEachAndTellsHowFarItIs) {
  const RealJob job = SlowRankOne();
  std::vector<size_t> reported;
  const auto runs = RunVariations(job, [&reported](size_t done, size_t total) {
    reported.push_back(done);
    EXPECT_GE(total, done);
    return absl::OkStatus();
  });
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(runs->size(), VariationsOf(job).size());
  EXPECT_EQ(reported.size(), runs->size());
  const OutcomeCounts counts = CountOutcomes(*runs);
  EXPECT_GE(counts[static_cast<size_t>(RealOutcome::kRight)], 2u);
  for (const RealRun& run : *runs) {
    EXPECT_THAT(RealColumns(), Contains(ColumnOf(run)));
    const bool out = !std::ranges::binary_search(run.variation.ranks, 1u);
    EXPECT_EQ(run.culprit_recorded, !out);
    for (const SaidFinding& said : run.said)
      EXPECT_LE(said.finding.ranks_seen, run.variation.ranks.size());
  }
}

TEST(RunVariations, EndWhereTheyAreToEnd) {
  const auto runs = RunVariations(
      SlowRankOne(), [](size_t, size_t) { return absl::CancelledError("another failed"); });
  EXPECT_TRUE(absl::IsCancelled(runs.status()));
}

TEST(ColumnOf, NamesWhatIsRecorded) {
  RealRun run;
  EXPECT_EQ(ColumnOf(run), "as it is");
  run.variation.stacks = false;
  EXPECT_EQ(ColumnOf(run), "no stacks");
  run.variation = {.part = RecordedPart::kQuarter};
  EXPECT_EQ(ColumnOf(run), "quarter");
  run.culprit_recorded = false;
  EXPECT_EQ(ColumnOf(run), "quarter, culprit out");
  run.variation.part = RecordedPart::kAllButOne;
  EXPECT_EQ(ColumnOf(run), "less the culprit");
  run.variation = {.step_marks = StepMarks::kNone};
  EXPECT_EQ(ColumnOf(run), "no step marks");
}

}  // namespace
}  // namespace eroica

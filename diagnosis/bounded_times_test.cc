#include "diagnosis/bounded_times.h"

#include <gtest/gtest.h>

#include "schemas/example_payloads.h"

namespace eroica {
namespace {

constexpr int64_t kLongest = kLongestTimeNs;

TEST(BoundTimes, WhatJobsHaveStaysAsItIs) {
  PatternBatch batch = ExamplePatternBatch();
  BoundTimes(&batch);
  EXPECT_EQ(batch, ExamplePatternBatch());
  CollectiveSummary summary = ExampleCollectiveSummary();
  BoundTimes(&summary);
  EXPECT_EQ(summary, ExampleCollectiveSummary());
  RankStanding standing = ExampleRankStanding();
  BoundTimes(&standing);
  EXPECT_EQ(standing, ExampleRankStanding());
}

TEST(BoundTimes, LongerDurationsAreTakenAsTheLongest) {
  PatternBatch batch = ExamplePatternBatch();
  batch.steps[0].duration_ns = kLongest + 1;
  batch.steps[0].stage_ns[0] = 2 * kLongest;
  batch.patterns[0].critical_ns = 8 * kLongest;
  batch.patterns[0].duration_mean_ns = 9.0 * static_cast<double>(kLongest);
  batch.folded_critical_ns[1] = kLongest + 5;
  batch.connections[0].busy_ns = 3 * kLongest;
  BoundTimes(&batch);
  EXPECT_EQ(batch.steps[0].duration_ns, kLongest);
  EXPECT_EQ(batch.steps[0].stage_ns[0], kLongest);
  EXPECT_EQ(batch.patterns[0].critical_ns, kLongest);
  EXPECT_EQ(batch.patterns[0].duration_mean_ns, static_cast<double>(kLongest));
  EXPECT_EQ(batch.folded_critical_ns[1], kLongest);
  EXPECT_EQ(batch.connections[0].busy_ns, kLongest);

  CollectiveSummary summary = ExampleCollectiveSummary();
  summary.members[0].wait_ns = kLongest + 1;
  BoundTimes(&summary);
  EXPECT_EQ(summary.members[0].wait_ns, kLongest);

  RankStanding standing = ExampleRankStanding();
  standing.time_ns = standing.last_progress_ns = 4 * kLongest;
  standing.step_mean_ns = 4 * kLongest;
  BoundTimes(&standing);
  EXPECT_EQ(standing.step_mean_ns, kLongest);
  EXPECT_EQ(standing.time_ns, 4 * kLongest) << "a moment";
}

}  // namespace
}  // namespace eroica

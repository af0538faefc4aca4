#include "tests/support/job_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "schemas/testing/not_empty.h"

namespace eroica::testing {
namespace {

// Duration of every collective, by sequence and rank.
std::map<uint64_t, std::map<uint32_t, int64_t>> CollectiveDurations(
    const std::vector<EventBatch>& batches) {
  std::map<uint64_t, std::map<uint32_t, int64_t>> durations;
  for (const EventBatch& batch : batches) {
    for (const Collective& collective : batch.collectives) {
      durations[collective.sequence][batch.identity.rank.value] =
          batch.intervals.duration_ns[collective.interval];
    }
  }
  return durations;
}

TEST(JobBuilder, KeepsTheInvariantsOfBatches) {
  std::map<uint32_t, uint64_t> next;
  std::map<uint32_t, bool> final;
  for (const EventBatch& batch : NotEmpty(BuildJob({}))) {
    const uint32_t rank = batch.identity.rank.value;
    EXPECT_EQ(batch.sequence, next[rank]++);
    EXPECT_FALSE(final[rank]);
    final[rank] = batch.final;
    EXPECT_TRUE(std::is_sorted(batch.intervals.start_ns.begin(), batch.intervals.start_ns.end()));
    EXPECT_TRUE(std::all_of(batch.intervals.duration_ns.begin(), batch.intervals.duration_ns.end(),
                            [](int64_t d) { return d > 0; }));
    const auto by_time = [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; };
    EXPECT_TRUE(std::is_sorted(batch.marks.begin(), batch.marks.end(), by_time));
    EXPECT_TRUE(std::is_sorted(batch.samples.begin(), batch.samples.end(), by_time));
  }
  EXPECT_EQ(final.size(), 4u);
  EXPECT_TRUE(
      std::all_of(final.begin(), final.end(), [](const auto& entry) { return entry.second; }));
}

TEST(JobBuilder, TheSlowRankWaitsLeast) {
  for (const JobFault fault : {JobFault::kSlowKernel, JobFault::kSlowPython}) {
    JobOptions options;
    options.fault = fault;
    options.culprit = 2;
    const auto durations = CollectiveDurations(BuildJob(options));
    ASSERT_EQ(durations.size(), 24u);
    for (const auto& [sequence, by_rank] : durations) {
      ASSERT_EQ(by_rank.size(), 4u);
      for (const auto& [rank, duration] : by_rank) {
        if (rank == 2 || sequence % 2 == 1)
          continue;  // the second bucket may queue behind the first
        EXPECT_GT(duration, 2 * by_rank.at(2)) << sequence;
      }
    }
  }
}

TEST(JobBuilder, EqualOptionsGiveEqualBatches) {
  const std::vector<EventBatch> a = BuildJob({});
  const std::vector<EventBatch> b = BuildJob({});
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].intervals.start_ns, b[i].intervals.start_ns);
    EXPECT_EQ(a[i].intervals.duration_ns, b[i].intervals.duration_ns);
  }
}

}  // namespace
}  // namespace eroica::testing

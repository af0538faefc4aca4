#include "stream_ops/align/summary_limits.h"

#include <gtest/gtest.h>

#include <string>

namespace eroica {
namespace {

Blocker Of(const std::string& name, int64_t caused_wait_ns) {
  return {.name = name,
          .stack = std::string(936 - name.size(), 's'),
          .caused_wait_ns = caused_wait_ns};  // 1,000 bytes each
}

TEST(SummaryLimits, WhatFitsStaysAsItIs) {
  CollectiveSummary summary;
  summary.members = {{.rank = RankId(0), .late_steps = {1, 2}, .blockers = {Of("a", 3)}}};
  summary.pairs.resize(2);
  const CollectiveSummary before = summary;
  EXPECT_EQ(CutToLimits({.blocker_bytes = 1'000, .late_steps = 2, .pairs = 2}, &summary),
            SummaryCuts{});
  EXPECT_EQ(summary, before);
}

TEST(SummaryLimits, TheBlockersWithTheMostCausedWaitStay) {
  CollectiveSummary summary;
  summary.members = {{.rank = RankId(0), .blockers = {Of("a", 50), Of("b", 10)}},
                     {.rank = RankId(1), .blockers = {Of("c", 40), Of("d", 30)}},
                     {.rank = RankId(2), .blockers = {Of("e", 5)}}};
  EXPECT_EQ(CutToLimits({.blocker_bytes = 3'500}, &summary), (SummaryCuts{.blockers = 2}));
  ASSERT_EQ(summary.members[0].blockers.size(), 1u);
  EXPECT_EQ(summary.members[0].blockers[0].name, "a");
  EXPECT_EQ(summary.members[1].blockers.size(), 2u);
  EXPECT_EQ(summary.members[2].blockers.size(), 0u);
}

TEST(SummaryLimits, TheFirstLateStepsAndPairsStay) {
  CollectiveSummary summary;
  summary.members = {{.rank = RankId(0), .late_steps = {1, 2, 3}},
                     {.rank = RankId(1), .late_steps = {4, 5}}};
  summary.pairs.resize(5);
  const SummaryLimits limits{.late_steps = 3, .late_steps_of_member = 2, .pairs = 4};
  EXPECT_EQ(CutToLimits(limits, &summary), (SummaryCuts{.late_steps = 2, .pairs = 1}));
  EXPECT_EQ(summary.members[0].late_steps, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(summary.members[1].late_steps, std::vector<int64_t>{4});
  EXPECT_EQ(summary.pairs.size(), 4u);
}

}  // namespace
}  // namespace eroica

#include "tests/evaluation/baselines/longest_duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/evaluation/baselines/baseline_test_views.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(LongestDurationBaseline, BlamesTheLongestBarAgainstTheMedian) {
  TrainingView job(8);
  job.RunOnAll("gemm", 60, "", FunctionClass::kGpuCompute).RunOnAll("load", 20);
  job.batches()[5].patterns[0].total_ns *= 2;
  job.Finish();
  const std::vector<Finding> findings = Ask<LongestDurationBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(5));
  EXPECT_EQ(findings[0].kind, FindingKind::kSlowRank);
  EXPECT_THAT(findings[0].title, HasSubstr("2.00 times the median"));
  EXPECT_FALSE(findings[0].id.empty());
}

TEST(LongestDurationBaseline, SilentWhereAllBarsLookTheSame) {
  TrainingView job(8);
  for (uint32_t rank = 0; rank < 8; ++rank) job.Run(rank, "gemm", 60 + 0.3 * rank);
  EXPECT_THAT(Ask<LongestDurationBaseline>(job.Finish()), IsEmpty());
}

TEST(LongestDurationBaseline, LooksAtNothingBelowOnePercent) {
  TrainingView job(4);
  job.RunOnAll("gemm", 100);
  for (uint32_t rank = 0; rank < 4; ++rank) job.Run(rank, "small", rank == 2 ? 0.5 : 0.1);
  EXPECT_THAT(Ask<LongestDurationBaseline>(job.Finish()), IsEmpty());
}

// Known traps.

TEST(LongestDurationBaseline, BlamesTheVictimOfALateArriver) {
  // Rank 3 computes 20 % longer; whoever waits for it has collectives three times as long. Rank 0
  // came first.
  TrainingView job(8);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    job.Run(rank, "gemm", rank == 3 ? 120 : 100, "", FunctionClass::kGpuCompute);
    job.Run(rank, "all_reduce",
            rank == 3   ? 10
            : rank == 0 ? 33
                        : 30,
            "", FunctionClass::kCollective);
  }
  const std::vector<Finding> findings = Ask<LongestDurationBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function,
            "gemm");  // 1.2 beats 33 / 30 here: the median itself is a victim's ...

  TrainingView mixed(8);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    mixed.Run(rank, "gemm", rank == 3 ? 120 : 100, "", FunctionClass::kGpuCompute);
    mixed.Run(rank, "all_reduce",
              rank == 3  ? 10
              : rank < 3 ? 30
                         : 12,
              "", FunctionClass::kCollective);  // ... but not where only its own group waits.
  }
  const std::vector<Finding> fooled = Ask<LongestDurationBaseline>(mixed.Finish());
  ASSERT_THAT(fooled, SizeIs(1));
  EXPECT_EQ(fooled[0].function, "all_reduce");
  EXPECT_THAT(CulpritRanks(fooled[0]), ElementsAre(0));
}

TEST(LongestDurationBaseline, HasNobodyToCompareAFunctionWithThatOneRankAloneRuns) {
  TrainingView job(8);
  job.RunOnAll("gemm", 100).Run(6, "retry", 50);
  EXPECT_THAT(Ask<LongestDurationBaseline>(job.Finish()), IsEmpty());
}

TEST(LongestDurationBaseline, BlamesAHealthyRoleForBeingOne) {
  TrainingView job(8);
  for (uint32_t rank = 0; rank < 8; ++rank)
    job.Role(rank, rank >= 6 ? "last" : "first").Run(rank, "gemm", rank >= 6 ? 140 : 100);
  const std::vector<Finding> findings = Ask<LongestDurationBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(6));
}

}  // namespace
}  // namespace eroica

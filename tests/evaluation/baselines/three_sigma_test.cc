#include "tests/evaluation/baselines/three_sigma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/evaluation/baselines/baseline_test_views.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TrainingView OneSlow(uint32_t world, uint32_t slow, double ms) {
  TrainingView job(world);
  for (uint32_t rank = 0; rank < world; ++rank)
    job.Run(rank, "gemm", rank == slow ? ms : 100 + 0.1 * (rank % 5), "",
            FunctionClass::kGpuCompute);
  return job.Finish();
}

TEST(ThreeSigmaBaseline, BlamesWhoLiesMoreThanThreeSigmaOut) {
  const std::vector<Finding> findings = Ask<ThreeSigmaBaseline>(OneSlow(32, 9, 130));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "gemm");
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(9));
  ASSERT_THAT(findings[0].evidence, SizeIs(1));
  EXPECT_NEAR(findings[0].evidence[0].culprit, 130e6, 1);
  EXPECT_LT(findings[0].evidence[0].threshold, 130e6);
}

TEST(ThreeSigmaBaseline, SilentWhereAllAreEqual) {
  TrainingView job(32);
  job.RunOnAll("gemm", 33.3).RunOnAll("load", 0.1);
  EXPECT_THAT(Ask<ThreeSigmaBaseline>(job.Finish()), IsEmpty());
}

TEST(ThreeSigmaBaseline, TheMostSigmasComeFirst) {
  TrainingView job(64);
  for (uint32_t rank = 0; rank < 64; ++rank) {
    job.Run(rank, "gemm", (rank == 9 ? 109 : 100) + (rank % 7), "", FunctionClass::kGpuCompute);
    job.Run(rank, "load", (rank == 4 ? 80 : 20) + (rank % 7));
  }
  const std::vector<Finding> findings = Ask<ThreeSigmaBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].function, "load");
  EXPECT_EQ(findings[1].function, "gemm");
}

// Known traps.

TEST(ThreeSigmaBaseline, CannotSeeAnythingAmongTenRanks) {
  // One of n values lies at most sqrt(n - 1) standard deviations out.
  EXPECT_THAT(Ask<ThreeSigmaBaseline>(OneSlow(10, 3, 10'000)), IsEmpty());
  EXPECT_THAT(Ask<ThreeSigmaBaseline>(OneSlow(11, 3, 10'000)), SizeIs(1));
}

TEST(ThreeSigmaBaseline, FlagsAHealthyRoleThatFewRanksHave) {
  TrainingView job(32);
  for (uint32_t rank = 0; rank < 32; ++rank)
    job.Role(rank, rank >= 30 ? "last" : "first").Run(rank, "gemm", rank >= 30 ? 140 : 100);
  const std::vector<Finding> findings = Ask<ThreeSigmaBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(30, 31));
}

TEST(ThreeSigmaBaseline, ALargerFaultHidesASmallerOne) {
  TrainingView job(64);
  for (uint32_t rank = 0; rank < 64; ++rank)
    job.Run(rank, "gemm", rank == 9 ? 130 : rank == 4 ? 400 : 100);
  const std::vector<Finding> findings = Ask<ThreeSigmaBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(4));
}

TEST(ThreeSigmaBaseline, FlagsTheVictimsOfALateArriver) {
  // Only the four ranks of its group wait for rank 3, which shows nothing itself.
  TrainingView job(64);
  for (uint32_t rank = 0; rank < 64; ++rank)
    job.Run(rank, "all_reduce", rank < 3 ? 40 : 10, "", FunctionClass::kCollective);
  const std::vector<Finding> findings = Ask<ThreeSigmaBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace eroica

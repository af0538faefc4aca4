#include "tests/evaluation/baselines/holmes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/evaluation/baselines/baseline_test_views.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Ten steps of 100 ms.
TrainingView Job(uint32_t world) {
  TrainingView job(world, 10);
  job.RunOnAll("work", 100);
  return job;
}

TEST(HolmesBaseline, NamesTheNormalOneAmongAbnormalOnes) {
  TrainingView job = Job(4);
  AddWaits(job, {{0, 20}, {1, 20}, {2, 0}, {3, 20}});
  const std::vector<Finding> findings = Ask<HolmesBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(2));
  EXPECT_EQ(findings[0].kind, FindingKind::kSlowRank);
  EXPECT_NEAR(findings[0].evidence[0].culprit, 60e6, 1);
}

TEST(HolmesBaseline, SilentBelowDelta) {
  TrainingView job = Job(4);
  AddWaits(job, {{0, 3.9}, {1, 3.9}, {2, 0}, {3, 3.9}});
  EXPECT_THAT(Ask<HolmesBaseline>(job.Finish()), IsEmpty());
}

TEST(HolmesBaseline, FollowsTheWaitOverThePipelineToWhoWaitsForNobody) {
  // METHODS 9, pp4dp2_slow_mid_8r: rank 6 is slow, rank 7 a victim that is last at its all-reduce.
  TrainingView job = Job(8);
  for (uint32_t rank = 0; rank < 8; ++rank) job.Role(rank, "stage" + std::to_string(rank % 4));
  CollectiveSummary& pipeline = job.AddSummary();
  for (const uint32_t first : {0u, 4u}) {
    for (uint32_t stage = 0; stage < 3; ++stage) {
      const uint32_t rank = first + stage;
      AddPair(pipeline, rank, rank + 1, rank == 6 ? 40 : 10);
      AddPair(pipeline, rank + 1, rank, 10);
    }
  }
  AddWaits(job, {{2, 30}, {6, 0}});
  AddWaits(job, {{3, 30}, {7, 0}});
  const std::vector<Finding> findings = Ask<HolmesBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(6));
}

TEST(HolmesBaseline, FollowsTheWaitFromOneGroupToAnother) {
  // Rank 0 is slow: its tensor group waits, so rank 1 comes last where it meets rank 3.
  TrainingView job = Job(4);
  AddWaits(job, {{0, 0}, {1, 30}});
  AddWaits(job, {{1, 0}, {3, 30}});
  const std::vector<Finding> findings = Ask<HolmesBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(0));
}

TEST(HolmesBaseline, WhereAllMembersAreSlowItIsTheCommunication) {
  TrainingView job = Job(8);
  AddWaits(job, {{0, 0}, {1, 0}}, 5);
  AddWaits(job, {{2, 0}, {3, 0}}, 5);
  AddWaits(job, {{4, 0}, {5, 0}}, 25);
  AddWaits(job, {{6, 0}, {7, 0}}, 5);
  const std::vector<Finding> findings = Ask<HolmesBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kCommunication);
  EXPECT_THAT(findings[0].culprits, IsEmpty());
}

TEST(HolmesBaseline, ReportsTwoDevicesAtMostTheLargerFirst) {
  TrainingView job = Job(6);
  AddWaits(job, {{0, 0}, {1, 20}});
  AddWaits(job, {{2, 0}, {3, 60}});
  AddWaits(job, {{4, 0}, {5, 40}});
  const std::vector<Finding> findings = Ask<HolmesBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(2));
  EXPECT_THAT(CulpritRanks(findings[1]), ElementsAre(4));
}

TEST(HolmesBaseline, SilentWithoutIterations) {
  TrainingView job = Job(4);
  AddWaits(job, {{0, 20}, {1, 20}, {2, 0}, {3, 20}});
  job.Finish();
  for (PatternBatch& batch : job.batches()) batch.steps.clear();
  EXPECT_THAT(Ask<HolmesBaseline>(job), IsEmpty());
}

// Known traps.

TEST(HolmesBaseline, TwoLateRanksInOneGroupHideEachOther) {
  TrainingView job = Job(4);
  AddWaits(job, {{0, 20}, {1, 0}, {2, 0.5}, {3, 20}});
  EXPECT_THAT(Ask<HolmesBaseline>(job.Finish()), IsEmpty());
}

TEST(HolmesBaseline, AGroupWithoutItsLikesIsNeverSlowItself) {
  TrainingView job = Job(4);
  AddWaits(job, {{0, 0}, {1, 0}, {2, 0}, {3, 0}},
           60);  // 60 of 100 ms in one communicator of its kind
  EXPECT_THAT(Ask<HolmesBaseline>(job.Finish()), IsEmpty());
}

TEST(HolmesBaseline, TakesOrdinaryJitterInASmallJobForALateRank) {
  // METHODS 8, healthy_4r.
  TrainingView job = Job(4);
  AddWaits(job, {{0, 15}, {1, 14}, {2, 12}, {3, 7}}, 1);
  const std::vector<Finding> findings = Ask<HolmesBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(3));
}

TEST(HolmesBaseline, BlamesTheRankThatHasMoreToDo) {
  // METHODS 9, moe_hot_expert_4r: rank 2 has three times the tokens, and nothing is wrong with it.
  TrainingView job = Job(4);
  AddWaits(job, {{0, 25}, {1, 26}, {2, 0}, {3, 25}});
  const std::vector<Finding> findings = Ask<HolmesBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kSlowRank);
}

}  // namespace
}  // namespace eroica

#include "tests/evaluation/baselines/stage_frontier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/step_accounting/staged_job.h"
#include "tests/evaluation/baselines/baseline_test_views.h"
#include "tests/evaluation/baselines/step_frontier.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(StepFrontier, NamesTheLeaderOfEachStageAndAddsUp) {
  StagedJob job(3, 1, {10, 40, 80, 10});
  job.Set(1, {40, 40, 50, 10}, 0).Set(2, {10, 45, 60, 40}, 0);
  const CrossRankView view = job.View();
  const StepFrontier frontier = FrontierOf(LineUpSteps(view).front());
  EXPECT_EQ(frontier[0].leader, 1u);
  EXPECT_EQ(frontier[0].increment_ns, 40 * 1e6);
  EXPECT_EQ(frontier[0].lead_ns, 30 * 1e6);
  EXPECT_EQ(frontier[1].leader, 1u);
  EXPECT_EQ(frontier[1].increment_ns, 40 * 1e6);
  EXPECT_EQ(frontier[1].longest_other_ns, 45 * 1e6);
  EXPECT_EQ(frontier[2].increment_ns, 50 * 1e6);
  EXPECT_EQ(frontier[2].lead_ns, 0);  // rank 0 is as far
  EXPECT_EQ(frontier[3].leader, 2u);
  EXPECT_EQ(frontier[3].increment_ns, 25 * 1e6);
}

TEST(StageFrontierBaseline, NamesTheStageAndRankWhereDelayFirstShows) {
  StagedJob job(4, 8, {10, 40, 80, 10});
  job.Set(1, {40, 40, 50, 10}, 0);  // a slow loader, waited for in the backward pass
  const std::vector<Finding> findings = Ask<StageFrontierBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "data");
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(1));
  EXPECT_EQ(findings[0].evidence[1].culprit, 8);
  EXPECT_NEAR(findings[0].evidence[0].culprit, 40.0 / 140, 1e-9);
}

TEST(StageFrontierBaseline, TwoSuspectsTheLargerStageFirst) {
  StagedJob job(4, 8, {10, 40, 80, 10});
  job.Set(1, {40, 40, 50, 10}, 0).Set(2, {10, 100, 20, 10}, 0);
  const std::vector<Finding> findings = Ask<StageFrontierBaseline>(job);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].subkind, "forward");
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(2));
  EXPECT_EQ(findings[1].subkind, "data");
}

TEST(StageFrontierBaseline, UndecidedWhereTheLeaderChanges) {
  StagedJob job(4, 8, {10, 40, 80, 10});
  for (uint32_t step = 0; step < 8; ++step) job.SetStep(step % 2, step, {40, 40, 50, 10}, 0);
  EXPECT_THAT(Ask<StageFrontierBaseline>(job), IsEmpty());
}

TEST(StageFrontierBaseline, UndecidedWhereTheLeaderOnlyCarriesItsLeadAlong) {
  // Rank 1 still leads after forward, in which rank 2 spent longer.
  StagedJob job(4, 8, {10, 40, 80, 10});
  job.Set(1, {40, 40, 50, 10}, 0).Set(2, {10, 45, 75, 10}, 0);
  const std::vector<Finding> findings = Ask<StageFrontierBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "data");
}

TEST(StageFrontierBaseline, SilentWithoutMarks) {
  StagedJob job(4, 8, {10, 40, 80, 10});
  job.Set(1, {40, 40, 50, 10}, 0);
  for (PatternBatch& batch : job.batches()) {
    for (StepRecord& step : batch.steps) step.stage_ns = {};
  }
  EXPECT_THAT(Ask<StageFrontierBaseline>(job), IsEmpty());
}

// Known traps.

TEST(StageFrontierBaseline, DoesNotSeeWhatTheSynchronizationInsideAStageLevels) {
  // Rank 2 works 20 ms longer in the backward pass, and all leave its all-reduce together.
  StagedJob job(4, 8, {10, 40, 80, 10}, 20);
  job.Set(2, {10, 40, 80, 10}, 0);
  EXPECT_THAT(Ask<StageFrontierBaseline>(job), IsEmpty());
}

TEST(StageFrontierBaseline, BlamesAHealthyRoleForBeingOne) {
  // The first pipeline stage alone has the embedding, every step.
  StagedJob job(4, 8, {10, 40, 80, 10});
  job.Role(0, "first").Set(0, {10, 50, 70, 10}, 0);
  const std::vector<Finding> findings = Ask<StageFrontierBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(0));
}

TEST(StageFrontierBaseline, DoesNotSeeTwoRanksThatAreLateTogether) {
  StagedJob job(8, 8, {10, 40, 80, 10});
  job.Set(1, {40, 40, 50, 10}, 0).Set(5, {40, 40, 50, 10}, 0);
  EXPECT_THAT(Ask<StageFrontierBaseline>(job), IsEmpty());
}

}  // namespace
}  // namespace eroica

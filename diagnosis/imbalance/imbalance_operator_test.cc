#include "diagnosis/imbalance/imbalance_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/training_view.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two replicas of a pipeline; work of the stages in ms a step.
TrainingView Pipeline(const std::vector<double>& stage_ms) {
  const auto stages = static_cast<uint32_t>(stage_ms.size());
  TrainingView job(2 * stages);
  CollectiveSummary& summary = job.AddSummary();
  for (uint32_t rank = 0; rank < 2 * stages; ++rank) {
    const uint32_t stage = rank % stages;
    job.Run(rank, "forward", stage_ms[stage], "", FunctionClass::kGpuCompute).Role(rank, "stage " + std::to_string(stage));
    if (stage + 1 < stages) summary.pairs.push_back({.source = RankId{rank}, .destination = RankId{rank + 1}, .count = 4});
  }
  job.Finish();
  return job;
}

std::vector<Finding> Evaluate(TrainingView& job) {
  const CrossRankView view(job.batches(), job.summaries());
  std::vector<Finding> findings;
  ImbalanceOperator().Evaluate(view, findings);
  return findings;
}

TEST(ImbalanceOperator, AHeavyLastStageIsNamedAndNobodyIsBlamed) {
  TrainingView job = Pipeline({84, 84, 84, 137});
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
  EXPECT_EQ(findings[0].subkind, "stage");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_THAT(findings[0].victims, SizeIs(6));
  EXPECT_THAT(findings[0].title, HasSubstr("stage 3"));
}

TEST(ImbalanceOperator, StagesThatDifferByNatureAreSilent) {
  for (const std::vector<double>& stages : {std::vector<double>{76, 100, 98, 150}, {120, 150, 148, 210}, {110, 218}, {100, 100, 100, 140}}) {
    TrainingView job = Pipeline(stages);
    EXPECT_THAT(Evaluate(job), IsEmpty()) << stages.back();
  }
}

TEST(ImbalanceOperator, OneHeavyRankOfAStageIsNoStageImbalance) {
  TrainingView job = Pipeline({84, 84, 84, 84});
  job.batches()[3].patterns[0].critical_ns *= 2;
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(ImbalanceOperator, RolesWithoutTrafficBetweenThemAreNoStages) {
  TrainingView job = Pipeline({84, 84, 84, 137});
  job.summaries()[0].pairs.clear();
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(ImbalanceOperator, WorkThatGrowsFromRankToRankIsUnevenData) {
  TrainingView job(4);
  for (uint32_t rank = 0; rank < 4; ++rank) job.Run(rank, "forward", 34 + 23.0 * rank, "train");
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
  EXPECT_EQ(findings[0].subkind, "data");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_EQ(findings[0].function, "forward");
  EXPECT_THAT(findings[0].victims, SizeIs(3));
}

TEST(ImbalanceOperator, ALoneOutlierIsNoUnevenData) {
  TrainingView job(4);
  job.RunOnAll("forward", 60).Run(2, "forward_more", 40);
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

TEST(ImbalanceOperator, AnOrderThatChangesFromStepToStepIsChance) {
  TrainingView job(4);
  job.RunOnAll("forward", 60);
  for (uint32_t step = 0; step < 8; ++step) {
    for (uint32_t rank = 0; rank < 4; ++rank) job.RunInSteps(rank, "rest", 10.0 * ((rank + step) % 4), step, step + 1);
  }
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

}  // namespace
}  // namespace eroica

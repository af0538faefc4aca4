#include "diagnosis/collective_wait/collective_wait_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/finding_measures.h"
#include "diagnosis/training_view.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// 8 ranks, one step of 16 ms; rank `late` comes last `last` times of 8 and makes each other rank
// wait `wait_ms` in sum.
TrainingView OneStep(uint32_t late, uint64_t last, double wait_ms, uint32_t steps = 1) {
  TrainingView job(8, steps);
  job.RunOnAll("gemm", 16, "", FunctionClass::kGpuCompute);
  CollectiveSummary& summary = job.AddSummary();
  summary.operations = 8;
  for (uint32_t rank = 0; rank < 8; ++rank) {
    MemberSummary member{.rank = RankId{rank}, .count = 8};
    if (rank == late) {
      member.last_count = last;
      member.caused_wait_ns = static_cast<int64_t>(7 * wait_ms * kMillisecond);
      member.blockers = {{.function = FunctionId{9},
                          .name = "lookup",
                          .count = last,
                          .caused_wait_ns = member.caused_wait_ns,
                          .run_ns = 3'000'000}};
    } else {
      member.exposed_wait_ns = static_cast<int64_t>(wait_ms * kMillisecond);
    }
    summary.members.push_back(member);
  }
  job.Finish();
  return job;
}

std::vector<Finding> Evaluate(TrainingView& job) { return ClaimsOf<CollectiveWaitOperator>(job); }

TEST(CollectiveWaitOperator, NamesTheLastArriverAndSaysThatPersistenceIsNotShown) {
  TrainingView job = OneStep(7, 5, 4);
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 7);
  EXPECT_EQ(findings[0].function, "lookup");
  EXPECT_THAT(findings[0].victims, SizeIs(7));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 4e6, 1);
  EXPECT_LE(findings[0].confidence, 0.5);
  EXPECT_THAT(findings[0].caveats, ElementsAre(HasSubstr("persistence is not shown")));
  EXPECT_THAT(findings[0].title, HasSubstr("Rank 7 arrived last at 5 of 8 collectives"));
}

TEST(CollectiveWaitOperator, StagesOfAPipelineArriveInTheirOrder) {
  TrainingView job = OneStep(7, 8, 4);
  for (uint32_t rank = 0; rank < 8; ++rank) job.Role(rank, rank < 4 ? "stage 0" : "stage 1");
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, ChanceIsNoCause) {
  TrainingView job = OneStep(7, 2, 4);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, LittleWaitingIsNoCause) {
  TrainingView job = OneStep(7, 8, 0.5);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, LeavesWindowsOfManyStepsToBusyTime) {
  TrainingView job = OneStep(7, 5, 4, 3);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, OneAccidentIsOneSlowStep) {
  TrainingView job = OneStep(7, 5, 4, 2);
  job.summaries()[0].members[7].late_steps = {1};
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  const Measure* slow = SlowSteps(findings[0]);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->culprit, 1);
  EXPECT_EQ(slow->samples, 2);
}

TEST(CollectiveWaitOperator, SilentWhereACheckpointIsAmongTheOperations) {
  TrainingView job = OneStep(7, 5, 4, 2);
  for (PatternBatch& batch : job.batches()) batch.steps.pop_back();
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, SilentWhereMembersAreMissing) {
  TrainingView job = OneStep(7, 5, 4);
  job.summaries()[0].missing = {RankId{8}};
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, SilentWhereWaitingIsSpreadOverManyCulprits) {
  TrainingView job = OneStep(7, 5, 4);
  for (MemberSummary& member : job.summaries()[0].members)
    member.caused_wait_ns = 20 * kMillisecond;
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

}  // namespace
}  // namespace eroica

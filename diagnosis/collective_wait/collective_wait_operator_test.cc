#include "diagnosis/collective_wait/collective_wait_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// 8 ranks, one step of 16 ms; rank `late` comes last `last` times of 8 and makes each other rank
// wait `wait_ms` in sum. Others come last at the other operations, and make ranks wait for
// `others_ms` each time.
TrainingView OneStep(uint32_t late, uint64_t last, double wait_ms, uint32_t steps = 1,
                     double others_ms = 0.1) {
  TrainingView job(8, steps);
  job.RunOnAll("gemm", 16, "", FunctionClass::kGpuCompute);
  CollectiveSummary& summary = job.AddSummary();
  summary.operations = 8;
  for (uint32_t rank = 0; rank < 8; ++rank) {
    MemberSummary member{.rank = RankId{rank}, .count = 8};
    if (rank == late) {
      member.last_count = last;
      member.caused_wait_ns = static_cast<int64_t>(7 * wait_ms * kNsPerMs);
      member.blockers = {{.function = FunctionId{9},
                          .name = "lookup",
                          .count = last,
                          .caused_wait_ns = member.caused_wait_ns,
                          .run_ns = 3'000'000}};
    } else {
      member.exposed_wait_ns = static_cast<int64_t>(wait_ms * kNsPerMs);
      member.last_count = (late + rank) % 8 < 8 - last ? 1 : 0;
      member.caused_wait_ns =
          static_cast<int64_t>(7 * others_ms * kNsPerMs) * static_cast<int64_t>(member.last_count);
    }
    summary.members.push_back(member);
  }
  job.Finish();
  return job;
}

std::vector<Finding> Evaluate(TrainingView& job) { return ClaimsOf<CollectiveWaitOperator>(job); }

TEST(CollectiveWaitOperator, NamesTheLastArriverAndSaysThatPersistenceIsNotShown) {
  TrainingView job = OneStep(7, 7, 4);
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 7);
  EXPECT_EQ(findings[0].function, "lookup");
  EXPECT_THAT(findings[0].victims, SizeIs(7));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 4e6, 0.1e6);
  EXPECT_LE(findings[0].confidence, 0.5);
  EXPECT_THAT(findings[0].caveats, ElementsAre(HasSubstr("persistence is not shown")));
  EXPECT_THAT(findings[0].title, HasSubstr("Rank 7 arrived last at 7 of 8 collectives"));
}

// The last function before a collective is often the longest of all ranks.
TEST(CollectiveWaitOperator, WhatPeersRunAsLongIsNotWhatMakesItLate) {
  TrainingView job = OneStep(7, 7, 4);
  Blocker& blocker = job.summaries()[0].members[7].blockers[0];
  blocker.name = "gemm";
  blocker.function = job.batches()[7].patterns[0].function;
  const std::vector<Finding> peers_run_it = Evaluate(job);
  ASSERT_THAT(peers_run_it, SizeIs(1));
  EXPECT_EQ(peers_run_it[0].culprits[0].rank, 7);
  EXPECT_EQ(peers_run_it[0].function, "");
  EXPECT_THAT(peers_run_it[0].title, HasSubstr("is not in the telemetry"));
  job.batches()[7].patterns[0].critical_ns += 3 * kNsPerMs;
  EXPECT_EQ(Evaluate(job)[0].function, "gemm");
}

TEST(CollectiveWaitOperator, TimeOfTheThreadWithoutAFunctionIsSaid) {
  TrainingView job = OneStep(7, 7, 4);
  job.summaries()[0].members[7].blockers.clear();
  job.batches()[7].patterns[0].critical_ns -= 4 * kNsPerMs;  // nothing else was recorded
  EXPECT_THAT(Evaluate(job)[0].title, HasSubstr("its training thread takes it, in functions that "
                                                "were not recorded (4.00 ms a step, its peers 0)"));
}

TEST(CollectiveWaitOperator, StagesOfAPipelineArriveInTheirOrder) {
  TrainingView job = OneStep(7, 8, 4);
  for (uint32_t rank = 0; rank < 8; ++rank) job.Role(rank, rank < 4 ? "stage 0" : "stage 1");
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, WhoWaitsForWhatItIsSentIsAVictim) {
  for (const int64_t wait_ms : {1, 3}) {
    TrainingView job = OneStep(7, 7, 4);
    job.AddSummary().pairs = {
        {.source = RankId{6}, .destination = RankId{7}, .receive_wait_ns = wait_ms * kNsPerMs}};
    EXPECT_THAT(Evaluate(job), SizeIs(wait_ms == 1 ? 1 : 0)) << "rank 7 holds up for 4 ms";
  }
}

TEST(CollectiveWaitOperator, NoiseIsNoCause) {
  TrainingView job = OneStep(7, 2, 4);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, LittleWaitingIsNoCause) {
  TrainingView job = OneStep(7, 8, 0.5);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, LeavesWindowsOfManyStepsToBusyTime) {
  TrainingView job = OneStep(7, 7, 4, 3);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, OneAccidentIsOneSlowStep) {
  TrainingView job = OneStep(7, 7, 4, 2);
  job.summaries()[0].members[7].late_steps = {1};
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  const Measure* slow = SlowSteps(findings[0]);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->culprit, 1);
  EXPECT_EQ(slow->samples, 2);
}

TEST(CollectiveWaitOperator, SilentWhereACheckpointIsAmongTheOperations) {
  TrainingView job = OneStep(7, 7, 4, 2);
  for (PatternBatch& batch : job.batches()) batch.steps.pop_back();
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(CollectiveWaitOperator, SilentWhereMembersAreMissing) {
  TrainingView job = OneStep(7, 7, 4);
  job.summaries()[0].missing = {RankId{8}};
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

// One window in twenty may look into nothing, where there is a third of a step to win.
TEST(CollectiveWaitOperator, ALargeLossIsWorthALook) {
  TrainingView large = OneStep(7, 5, 8);
  EXPECT_THAT(Evaluate(large), SizeIs(1));
  TrainingView small = OneStep(7, 5, 2);
  EXPECT_THAT(Evaluate(small), IsEmpty());
}

// Noise alone makes one of eight ranks come last at four of eight operations, and the others wait
// for it no longer than they wait for each other.
TEST(CollectiveWaitOperator, SilentWhereOthersAreWaitedForAsLong) {
  TrainingView job = OneStep(7, 4, 4, 1, 1);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

}  // namespace
}  // namespace eroica

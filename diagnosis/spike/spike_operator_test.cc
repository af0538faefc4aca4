#include "diagnosis/spike/spike_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> Evaluate(TrainingView& job) {
  job.Finish();
  return ClaimsOf<SpikeOperator>(job);
}

TEST(SpikeOperator, OneSlowStepIsASpike) {
  TrainingView job(8);
  job.RunOnAll("forward", 60).RunInSteps(3, "retry", 40, 5, 6);
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, kTransient);
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_EQ(findings[0].function, "retry");
  EXPECT_EQ(SlowSteps(findings[0])->culprit, 1);
}

// A scheduler that shares two processors out to eight ranks makes some of them late in some steps.
TEST(SpikeOperator, WhereProcessorsAreShortTheSameRankMustComeBack) {
  for (const double wait_ms : {0.2, 3.0}) {
    TrainingView job(8);
    job.RunOnAll("forward", 60).RunInSteps(3, "retry", 40, 5, 6);
    job.RunOnAll(std::string(kWaitForProcessor) + ")", wait_ms);
    const std::vector<Finding> findings = Evaluate(job);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(FindMeasure(findings[0], kSharedProcessors) != nullptr, wait_ms > 1);
  }
}

TEST(SpikeOperator, WhatLastsUntilTheEndOfTheWindowIsNone) {
  const auto slow_in = [](uint32_t first, uint32_t last) {
    TrainingView job(8);
    job.RunOnAll("forward", 60).RunInSteps(3, "retry", 40, first, last);
    return Evaluate(job).size();
  };
  EXPECT_EQ(slow_in(5, 8), 0u);
  EXPECT_EQ(slow_in(4, 7), 1u);
  EXPECT_EQ(slow_in(7, 8), 1u) << "of one step nobody knows";
}

TEST(SpikeOperator, WhatBeginsOnSeveralRanksAtOnceDoesNotRotate) {
  const auto late_in = [](const std::vector<uint32_t>& steps) {
    TrainingView job(32);
    job.RunOnAll("forward", 60);
    for (uint32_t rank = 0; rank < steps.size(); ++rank)
      job.RunInSteps(rank, "pin_memory", 40, steps[rank], steps[rank] + 1);
    return Evaluate(job).size();
  };
  EXPECT_EQ(late_in({7, 7, 7}), 0u);
  EXPECT_EQ(late_in({7, 7, 5}), 4u) << "three of them, and that the straggler rotates";
  EXPECT_EQ(late_in({7}), 1u);
}

// Stalls that nothing recorded explains, each rank's in steps of its own.
TEST(SpikeOperator, StallsThatRotateAreNobodys) {
  const auto stalls = [](const std::vector<uint32_t>& ranks, double ms) {
    TrainingView job(8, 10);
    job.RunOnAll("gemm", 30, "", FunctionClass::kGpuCompute);
    for (uint32_t i = 0; i < ranks.size(); ++i) job.Jitter(ranks[i], 2 * i + 1, ms);
    return Evaluate(job);
  };
  const std::vector<Finding> rotating = stalls({3, 5, 1, 3, 6}, 60);
  ASSERT_THAT(rotating, SizeIs(1));
  EXPECT_EQ(rotating[0].kind, FindingKind::kStepTime);
  EXPECT_EQ(rotating[0].subkind, kRoaming);
  EXPECT_THAT(rotating[0].culprits, IsEmpty());
  EXPECT_NEAR(rotating[0].lost_ns_per_step, 30e6, 0.5e6);
  ASSERT_NE(FindMeasure(rotating[0], kSeenInWindows), nullptr) << "one window may be an accident";
  for (const Finding& of_one : stalls({3, 3, 3, 5}, 60)) EXPECT_NE(of_one.subkind, kRoaming);
  for (const Finding& of_two : stalls({3, 5}, 60)) EXPECT_NE(of_two.subkind, kRoaming);
  for (const Finding& small : stalls({3, 5, 1, 3, 6}, 2.5)) EXPECT_NE(small.subkind, kRoaming);
}

// Beside stalls that rotate, a rank that runs more of a function in one step is late for that.
TEST(SpikeOperator, WhatARankRunsMoreOfIsNoStallThatRotates) {
  TrainingView job(8, 10);
  job.RunOnAll("gemm", 30, "", FunctionClass::kGpuCompute).RunOnAll("tokenize", 20);
  job.RunInSteps(2, "tokenize", 60, 8, 9);
  const std::vector<uint32_t> stalled = {3, 5, 1, 3, 6};
  for (uint32_t i = 0; i < stalled.size(); ++i) job.Jitter(stalled[i], 2 * i + 1, 60);
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].subkind, kRoaming);
  EXPECT_EQ(findings[1].function, "tokenize");
  ASSERT_THAT(findings[1].culprits, SizeIs(1));
  EXPECT_EQ(findings[1].culprits[0].rank, 2);
}

TEST(SpikeOperator, ASmallOneIsNone) {
  TrainingView job(8);
  job.RunOnAll("forward", 60).RunInSteps(3, "retry", 4, 5, 6);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

// Steps that differ by a millisecond or two on every rank: a spike of 30 is told, one of 10 is not,
// though it makes 3 % of the window.
TEST(SpikeOperator, StandsOutAgainstWhatSingleStepsDifferBy) {
  const auto with_spike = [](double ms) {
    TrainingView job(8, 4);
    job.RunOnAll("forward", 60).RunInSteps(3, "retry", ms, 2, 3);
    for (uint32_t rank = 0; rank < 8; ++rank) {
      for (uint32_t step = 0; step < 4; ++step)
        job.Jitter(rank, step, 0.5 * ((3 * rank + 5 * step) % 8));
    }
    return Evaluate(job);
  };
  EXPECT_THAT(with_spike(30), SizeIs(1));
  EXPECT_THAT(with_spike(10), IsEmpty());
}

TEST(SpikeOperator, AStepThatIsLongForAllIsNone) {
  TrainingView job(8);
  job.RunOnAll("forward", 60);
  for (uint32_t rank = 0; rank < 8; ++rank) job.RunInSteps(rank, "save", 40, 5, 6);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

// Garbage collected on all ranks at once takes one of them half as long again; a retry of the same
// length that others do not have is its own.
TEST(SpikeOperator, WhatTakesOneLongerInAStepThatIsLongForAllIsNone) {
  const auto with_collection = [](double on_all_ms) {
    TrainingView job(8);
    job.RunOnAll("forward", 60).RunInSteps(3, "collect", 40, 5, 6);
    for (uint32_t rank = 0; rank < 8; ++rank) job.RunInSteps(rank, "collect", on_all_ms, 5, 6);
    return job;
  };
  TrainingView collected = with_collection(80);
  EXPECT_THAT(Evaluate(collected), IsEmpty());
  TrainingView longer_steps = with_collection(10);
  EXPECT_THAT(Evaluate(longer_steps), SizeIs(1));
}

// Every rank collects in two or three of eight steps, each in its own, below whatever runs then: no
// rank's mean says anything.
TEST(SpikeOperator, RotatingStragglersStandOutInTheirSteps) {
  TrainingView job(8);
  job.RunOnAll("forward", 60);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    const char* caller = rank % 2 == 0 ? "model.py: forward" : "loader.py: next";
    job.RunInSteps(rank, "<built-in collect>", 20, rank, rank + 1, caller);
    job.RunInSteps(rank, "<built-in collect>", 20, (rank + 3) % 8, (rank + 3) % 8 + 1,
                   "loss.py: forward");
  }
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(8));
  for (const Finding& finding : findings) {
    EXPECT_EQ(SlowSteps(finding)->culprit, 2);
    EXPECT_EQ(finding.function, "<built-in collect>");
    EXPECT_NEAR(finding.lost_ns_per_step, 40e6 / 8, 1e5);
  }
}

TEST(SpikeOperator, WhatAllRunAtOnceIsNotWhatOneIsLateIn) {
  TrainingView job(8);
  job.RunOnAll("forward", 60);
  for (uint32_t rank = 0; rank < 8; ++rank) job.RunInSteps(rank, "collect", 20, 5, 6);
  job.Jitter(3, 2, 20);
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_EQ(findings[0].function, "") << "a longer sequence, perhaps";
}

// Half of a role waits in a collective that never ends, and looks busy.
TEST(SpikeOperator, WhatComesToManyAtOnceIsNobodys) {
  const auto with_slow = [](uint32_t ranks) {
    TrainingView job(8);
    job.RunOnAll("forward", 60);
    for (uint32_t rank = 0; rank < ranks; ++rank) job.RunInSteps(rank, "collect", 40, 6, 7);
    return Evaluate(job);
  };
  EXPECT_THAT(with_slow(2), SizeIs(2));
  EXPECT_THAT(with_slow(3), IsEmpty());
}

// More in half of the steps than in the others is the way of a rank whose inputs are uneven, or
// that is slow.
TEST(SpikeOperator, MoreThanHalfOfTheStepsTellNothing) {
  TrainingView job(8);
  job.RunOnAll("forward", 60).RunInSteps(3, "retry", 40, 2, 7);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

// A rank that reports other steps is left out, and the others are compared all the same.
TEST(SpikeOperator, RanksWithOtherStepsAreLeftOut) {
  TrainingView job(8);
  job.RunOnAll("forward", 60).RunInSteps(3, "retry", 40, 5, 6).RunInSteps(6, "retry", 40, 2, 3);
  job.Finish();
  job.batches()[6].steps.erase(job.batches()[6].steps.begin());
  const std::vector<Finding> findings = ClaimsOf<SpikeOperator>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
}

// A pipeline of single ranks, each with work of its own; every step is longer or shorter on all of
// them.
TrainingView Pipeline(uint32_t ranks = 6) {
  TrainingView job(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    job.Role(rank, "stage" + std::to_string(rank));
    for (uint32_t step = 0; step < 8; ++step) {
      job.RunInSteps(rank, "forward",
                     (40 + 5 * rank) * (1 + 0.05 * (step % 3)) + 0.1 * ((3 * rank + 5 * step) % 8),
                     step, step + 1);
    }
  }
  return job;
}

TEST(SpikeOperator, StagesOfSingleRanksAreMeasuredByTheirOwnSteps) {
  TrainingView job = Pipeline();
  job.RunInSteps(2, "<built-in collect>", 20, 3, 4, "model.py: forward")
      .RunInSteps(4, "<built-in collect>", 20, 5, 7, "loss.py: forward");
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].culprits[0].rank, 2);
  EXPECT_EQ(findings[0].function, "<built-in collect>");
  EXPECT_NEAR(findings[0].lost_ns_per_step, 20e6 / 8, 1e6);
  EXPECT_EQ(findings[1].culprits[0].rank, 4);
  EXPECT_EQ(SlowSteps(findings[1])->culprit, 2);
}

TEST(SpikeOperator, AStepThatIsLongForAllStagesIsNone) {
  TrainingView job = Pipeline();
  for (uint32_t rank = 0; rank < 6; ++rank) job.RunInSteps(rank, "save", 20, 3, 4);
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(SpikeOperator, FewStagesOrMostStepsTellNothing) {
  TrainingView few = Pipeline(3);
  few.RunInSteps(2, "collect", 20, 3, 4);
  EXPECT_THAT(Evaluate(few), IsEmpty());
  TrainingView often = Pipeline();
  often.RunInSteps(2, "collect", 20, 2, 7);
  EXPECT_THAT(Evaluate(often), IsEmpty());
}

}  // namespace
}  // namespace eroica

#include "diagnosis/measurements/cause_function.h"

#include <gtest/gtest.h>

#include <string>

#include "diagnosis/measurements/training_view.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr double kMs = kNsPerMs;

std::optional<CauseFunction> CauseOf(TrainingView& job, RankIndex rank, double excess_ms) {
  job.Finish();
  const CrossRankView view(job.batches(), job.summaries());
  return FindCauseFunction(view, rank, excess_ms * kMs, CauseOptions{});
}

TEST(FindCauseFunction, ABuiltInFunctionIsNamedByTheFrameThatCallsIt) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main").Run(3, "<built-in function sleep>", 40, "main > read_record");
  const auto cause = CauseOf(job, 3, 40);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "read_record");
  EXPECT_EQ(cause->hottest_leaf, "<built-in function sleep>");
}

// PyTorch's loader calls the data set: its own frames hold a little more, and are in nobody's code.
TEST(FindCauseFunction, WhatADataLoaderCallsIsNamedBeforeTheLoader) {
  constexpr char kLoader[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  constexpr char kFetch[] = "torch/utils/data/_utils/fetch.py(49): fetch";
  const std::string fetch = std::string("main > ") + kLoader + " > " + kFetch;
  const auto cause_of = [&](double item_ms, double collate_ms) {
    TrainingView job(4);
    job.RunOnAll("forward", 60, "main").Run(2, "data.py(9): __getitem__", item_ms, fetch);
    job.Run(2, "data.py(20): collate", collate_ms, fetch);
    return CauseOf(job, 2, item_ms + collate_ms);
  };
  EXPECT_EQ(cause_of(33, 7)->name, "data.py(9): __getitem__");
  EXPECT_EQ(cause_of(7, 33)->name, "data.py(20): collate");
  EXPECT_EQ(cause_of(22, 18)->name, kFetch) << "it is neither of them";
}

TEST(FindCauseFunction, OtherCallersAreNamedWhereTheyHoldClearlyMore) {
  TrainingView job(4);
  job.RunOnAll("forward", 60, "main")
      .Run(2, "part", 33, "main > slow")
      .Run(2, "rest", 7, "main > slow");
  EXPECT_EQ(CauseOf(job, 2, 40)->name, "slow");
}

// A sleep of 30 ms in a function of 34 is the name where the rank is late by less, too.
TEST(FindCauseFunction, WhatExplainsAllAndMostOfItsCallerIsTheBetterName) {
  const auto named = [](double part_ms, double rest_ms, double excess_ms) {
    TrainingView job(4);
    job.RunOnAll("backward", 60, "main")
        .Run(2, "slow", part_ms, "main > forward")
        .Run(2, "linear", rest_ms, "main > forward");
    return CauseOf(job, 2, excess_ms)->name;
  };
  EXPECT_EQ(named(30, 4, 31), "slow");
  EXPECT_EQ(named(30, 4, 24), "slow");
  EXPECT_EQ(named(30, 4, 36), "forward") << "of more than both";
  EXPECT_EQ(named(20, 14, 20), "forward") << "much else is in it";
}

// What else the rank runs on a busy host takes little longer than on its peers.
TEST(FindCauseFunction, WhatOnlyTheRankRunsIsNamedBeforeItsWholeProgram) {
  TrainingView job(2);
  job.RunOnAll("main", 0.3).Run(1, "slow", 42, "main").Run(1, "copy_", 9, "main");
  const auto cause = CauseOf(job, 1, 60);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "slow");
  TrainingView both(2);  // of a program whose parts are small the whole is named
  both.RunOnAll("main", 0.3).Run(1, "slow", 26, "main").Run(1, "copy_", 25, "main");
  EXPECT_EQ(CauseOf(both, 1, 50)->name, "main");
}

// What peers run as well must explain most of it.
TEST(FindCauseFunction, WhatPeersDoNotRunAtAllIsNamedWhereItExplainsTwoFifths) {
  const auto cause_of = [](double own_ms, double peers_ms) {
    TrainingView job(4);
    job.RunOnAll("forward", 60, "main").RunOnAll("slow", peers_ms, "main");
    job.Run(2, "slow", own_ms, "main");
    for (int part = 0; part < 10; ++part)
      job.Run(2, "part_" + std::to_string(part), (100 - own_ms) / 10,
              "other_" + std::to_string(part));
    return CauseOf(job, 2, 100);
  };
  ASSERT_TRUE(cause_of(45, 0));
  EXPECT_EQ(cause_of(45, 0)->name, "slow");
  EXPECT_FALSE(cause_of(35, 0));
  EXPECT_FALSE(cause_of(45, 5));
}

// On a busy host a function that computes is mostly not let run: that time passed in it, too.
TEST(FindCauseFunction, WhatWaitsForAProcessorInAFunctionIsItsTime) {
  TrainingView job(4);
  job.RunOnAll("(runnable, waiting for a processor)", 30).RunOnAll("forward", 40, "main");
  job.Run(2, "compute", 12, "main").Run(2, "(runnable, waiting for a processor)", 18);
  job.Run(2, "(waits for a processor)", 18, "main > compute");
  for (FunctionPattern& pattern : job.batches()[2].patterns) {
    if (pattern.name != "(waits for a processor)") continue;
    pattern.total_ns = pattern.critical_ns;
    pattern.critical_ns = 0;
  }
  const auto cause = CauseOf(job, 2, 30);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "compute");
  EXPECT_NEAR(cause->own_ns, 30 * kMs, kMs);
  EXPECT_NEAR(cause->coverage, 1, 0.05);
}

TEST(FindCauseFunction, TheLargestPartIsToldWhereNothingExplainsEnough) {
  TrainingView job(4);
  job.RunOnAll("forward", 60).Run(2, "slow", 30);
  for (int part = 0; part < 10; ++part) job.Run(2, "part_" + std::to_string(part), 7);
  job.Finish();
  const CrossRankView view(job.batches(), job.summaries());
  EXPECT_FALSE(FindCauseFunction(view, 2, 100 * kMs, CauseOptions{}));
  const auto part = FindLargestPart(view, 2, 100 * kMs, 0.2, CauseOptions{});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->name, "slow");
  EXPECT_FALSE(FindLargestPart(view, 2, 100 * kMs, 0.35, CauseOptions{}));
}

TEST(FindCauseFunction, WhatRanksRunBelowAnyFrameIsNamedItself) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main");
  job.Run(3, "<built-in function collect>", 40, "main > next");
  job.Run(4, "<built-in function collect>", 30, "main > forward")
      .Run(5, "<built-in function collect>", 35, "main > step");
  const auto cause = CauseOf(job, 3, 40);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "<built-in function collect>");
}

// More of it below one frame than below others is a coincidence, though the peers run nothing below
// that frame.
TEST(FindCauseFunction, WhatExplainsMoreThanTheFrameAboveIsNamedItself) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main").Run(3, "<built-in function collect>", 40, "main > next");
  job.Run(3, "<built-in function collect>", 20, "main > step");
  for (uint32_t rank = 4; rank < 8; ++rank)
    job.Run(rank, "<built-in function collect>", 12, "main > step");
  const auto cause = CauseOf(job, 3, 60);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "<built-in function collect>");
}

TEST(FindCauseFunction, TwoRanksThatSleepInTwoPlacesHaveTwoFaults) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main");
  job.Run(3, "<built-in function sleep>", 40, "main > read_record")
      .Run(5, "<built-in function sleep>", 40, "main > throttled_layer");
  const auto cause = CauseOf(job, 3, 40);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "read_record");
}

TEST(FindCauseFunction, ManyRanksThatSleepInOnePlaceSleepThere) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main");
  for (uint32_t rank = 0; rank < 3; ++rank)
    job.Run(rank, "<built-in function sleep>", 40, "main > read_record");
  const auto cause = CauseOf(job, 1, 40);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "read_record");
}

// Experts that are asked for little more run their kernels for long enough to have rows; the peers'
// were folded.
TEST(FindCauseFunction, WhatPeersFoldedTheyRan) {
  for (const double folded_ms : {0.0, 3.0}) {
    TrainingView job(8);
    job.RunOnAll("forward", 900, "main").Run(3, "grouped_gemm", 5, "", FunctionClass::kGpuCompute);
    for (PatternBatch& batch : job.batches()) {
      auto& folded_ns = batch.folded_critical_ns[static_cast<size_t>(FunctionClass::kGpuCompute)];
      folded_ns = static_cast<int64_t>((batch.rank.value == 3 ? 2 : 2 + folded_ms) * 8 * kMs);
    }
    EXPECT_EQ(CauseOf(job, 3, 5).has_value(), folded_ms < 2.5) << folded_ms;
  }
}

TEST(FindCauseFunction, WhatExplainsLessThanHalfIsNoCause) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main").Run(3, "extra", 15, "main");
  EXPECT_FALSE(CauseOf(job, 3, 40));
}

constexpr std::string_view kHeld = "(waiting for the GIL, held by thread metrics in a.py(3): run)";
constexpr std::string_view kRunnable = "(runnable, waiting for a processor)";

// Who holds the lock is found a second later only, and may be another thread on each rank.
TEST(FindCauseFunction, WaitsForTheLockAreOneWhoeverHeldIt) {
  for (const double all_ms : {0.0, 40.0}) {
    TrainingView job(8);
    job.RunOnAll("forward", 60, "main");
    for (uint32_t rank = 0; rank < 8; ++rank)
      job.Run(rank, "(waiting for the GIL, held by thread " + std::to_string(rank) + ")", all_ms);
    job.Run(3, "(waiting for the GIL)", 14).Run(3, kHeld, 10);
    const auto cause = CauseOf(job, 3, 30);
    ASSERT_TRUE(cause);
    EXPECT_TRUE(cause->name.starts_with("(waiting for the GIL, held by thread ")) << cause->name;
    EXPECT_NEAR(cause->own_ns, (24 + all_ms) * kMs, 1);
    EXPECT_NEAR(cause->peers_ns, all_ms * kMs, 1);
  }
}

// Its holder runs, and so takes a processor from the rank, too: more than the rank would wait for
// one anyhow, as it wants to run for 70 ms and its peers for 60.
TEST(FindCauseFunction, WhoHoldsTheLockMakesItWaitForAProcessorToo) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main").RunOnAll(kRunnable, 20);
  job.Run(3, kHeld, 10).Run(3, kRunnable, 20);
  const auto cause = CauseOf(job, 3, 30);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, kHeld);
  EXPECT_NEAR(cause->processor_wait_ns, (40 - 20 * 70 / 60.0) * kMs, 1);
  EXPECT_NEAR(cause->coverage, (10 + 40 - 20 * 70 / 60.0) / 30, 1e-6);
}

// Ranks outnumber processors: all wait for one, the longer the more they run.
TEST(FindCauseFunction, WhoRunsLongerWaitsLongerForAProcessor) {
  for (const double longer_ms : {0.0, 30.0}) {
    TrainingView job(8);
    job.RunOnAll("forward", 30, "main").RunOnAll(kRunnable, 30);
    job.Run(3, "extra_layer", longer_ms, "main > forward").Run(3, kRunnable, 30);
    const auto cause = CauseOf(job, 3, 30 + longer_ms);
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->name, longer_ms > 0 ? "extra_layer" : kRunnable);
    EXPECT_NEAR(cause->peers_ns, longer_ms > 0 ? 0 : 30 * kMs, 1);
  }
}

// All ranks wait for the lock as long, or one hardly at all: the processor is what it lacks.
TEST(FindCauseFunction, AWaitForAProcessorHasOtherReasonsThanALockThatAllWaitFor) {
  for (const double ms : {2.0, 10.0}) {
    TrainingView job(8);
    job.RunOnAll("forward", 60, "main")
        .RunOnAll(kRunnable, 20)
        .Run(3, kRunnable, 20)
        .Run(3, kHeld, ms);
    if (ms > 5) job.RunOnAll(kHeld, ms);
    const auto cause = CauseOf(job, 3, 22);
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->name, kRunnable) << ms;
  }
}

// Of eight stacks that a window holds three or four may see the lock waited for, where a fifth
// does.
TEST(FindCauseFunction, WhatFewTicksSawOfTheLockExplainsNoWaitForAProcessor) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main")
      .RunOnAll(kRunnable, 20)
      .Run(3, kRunnable, 20)
      .Run(3, kHeld, 8);
  job.Finish();
  for (PatternBatch& batch : job.batches())
    batch.levels.push_back({.resource = Resource::kStacks, .mean = 1, .max = 1, .samples = 8});
  const CrossRankView view(job.batches(), job.summaries());
  const auto cause = FindCauseFunction(view, 3, 28 * kMs, CauseOptions{});
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, kRunnable);
}

// All ranks collect about equally often: its means tell nothing of a rank whose steps with it are
// slow.
std::optional<CauseFunction> OccasionalCauseOf(TrainingView& job, RankIndex rank,
                                               double excess_ms) {
  job.Finish();
  const CrossRankView view(job.batches(), job.summaries());
  return FindOccasionalFunction(view, rank, excess_ms * kMs, 4, CauseOptions{});
}

TEST(FindOccasionalFunction, IsWhatRunsInFewStepsHoweverOftenPeersRunIt) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main");
  for (uint32_t rank = 0; rank < 8; ++rank) {
    job.RunInSteps(rank, "<built-in collect>", 40, rank, rank + 1,
                   rank % 2 == 0 ? "main > forward" : "main > next");
  }
  const auto cause = OccasionalCauseOf(job, 3, 40.0 / 8);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "<built-in collect>");
  EXPECT_EQ(cause->own_ns, 40e6 / 8);
  EXPECT_EQ(cause->peers_ns, 40e6 / 8);
}

TEST(FindOccasionalFunction, IsNotWhatRunsInMostStepsOrMuchLonger) {
  TrainingView often(8);
  often.RunOnAll("forward", 60, "main").RunInSteps(3, "retry", 40, 2, 7, "main");
  EXPECT_FALSE(OccasionalCauseOf(often, 3, 25));
  TrainingView evaluation(8);
  evaluation.RunOnAll("forward", 60, "main")
      .RunInSteps(3, "evaluate", 400, 2, 3, "main")
      .Jitter(3, 5, 40);
  EXPECT_FALSE(OccasionalCauseOf(evaluation, 3, 40.0 / 8));
}

}  // namespace
}  // namespace eroica

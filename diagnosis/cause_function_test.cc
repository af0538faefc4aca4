#include "diagnosis/cause_function.h"

#include <gtest/gtest.h>

#include "diagnosis/training_view.h"

namespace eroica {
namespace {

constexpr double kMs = kMillisecond;

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

TEST(FindCauseFunction, WhatRanksRunBelowAnyFrameIsNamedItself) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main");
  job.Run(3, "<built-in function collect>", 40, "main > next");
  job.Run(4, "<built-in function collect>", 30, "main > forward").Run(5, "<built-in function collect>", 35, "main > step");
  const auto cause = CauseOf(job, 3, 40);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "<built-in function collect>");
}

TEST(FindCauseFunction, TwoRanksThatSleepInTwoPlacesHaveTwoFaults) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main");
  job.Run(3, "<built-in function sleep>", 40, "main > read_record").Run(5, "<built-in function sleep>", 40, "main > throttled_layer");
  const auto cause = CauseOf(job, 3, 40);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "read_record");
}

TEST(FindCauseFunction, ManyRanksThatSleepInOnePlaceSleepThere) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main");
  for (uint32_t rank = 0; rank < 3; ++rank) job.Run(rank, "<built-in function sleep>", 40, "main > read_record");
  const auto cause = CauseOf(job, 1, 40);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->name, "read_record");
}

// Experts that are asked for little more run their kernels for long enough to have rows; the peers' were folded.
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

}  // namespace
}  // namespace eroica

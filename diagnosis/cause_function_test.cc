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

TEST(FindCauseFunction, WhatExplainsLessThanHalfIsNoCause) {
  TrainingView job(8);
  job.RunOnAll("forward", 60, "main").Run(3, "extra", 15, "main");
  EXPECT_FALSE(CauseOf(job, 3, 40));
}

}  // namespace
}  // namespace eroica

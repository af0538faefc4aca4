#include "diagnosis/slow_rank/unseen_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/explanation/root_cause.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kWork = "train.py(5): work";
constexpr const char* kExchange = "train.py(9): exchange";  // waits, and nobody knows that it does
constexpr const char* kSlow = "train.py(12): slow_sleep";

// Steps of 42 ms: the rank that runs something else waits for less.
TrainingView Job(uint32_t world_size, const std::vector<uint32_t>& slow, uint32_t steps = 16) {
  TrainingView job(world_size, steps);
  job.RunOnAll(kWork, 10, "train.py(1): main");
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    const bool is_slow = std::ranges::find(slow, rank) != slow.end();
    job.Run(rank, kExchange, is_slow ? 2 : 32, "train.py(1): main");
    if (is_slow) job.Run(rank, kSlow, 30, "train.py(1): main");
  }
  return job;
}

std::vector<Finding> Found(TrainingView& job) {
  const CrossRankView view(job.batches(), job.summaries());
  return FindUnseenWaits(view);
}

TEST(UnseenWaits, WhatOneRankAloneRunsIsNamedAndTheMissingWaitIsSaid) {
  TrainingView job = Job(4, {2});
  const std::vector<Finding> found = Found(job.Finish());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].subkind, kUnseenWaits);
  ASSERT_THAT(found[0].culprits, SizeIs(1));
  EXPECT_EQ(found[0].culprits[0].rank, 2);
  EXPECT_EQ(found[0].function, kSlow);
  EXPECT_THAT(found[0].title, HasSubstr("Rank 2 spends 30.0 ms of each step of 42.0 ms (71 %)"));
  EXPECT_THAT(found[0].title, HasSubstr("no collective was seen"));
  EXPECT_THAT(found[0].explanation, HasSubstr("All ranks have steps of about 42.0 ms"));
  EXPECT_THAT(found[0].suggested_action, HasSubstr("eroica.collective()"));
  EXPECT_NE(FindMeasure(found[0], kSeenInWindows), nullptr) << "one window is not believed";
}

// Clients of a parameter server: the others go on.
TEST(UnseenWaits, WhereTheOthersStepsAreShorterNobodyIsSaidToWait) {
  TrainingView job = Job(4, {2});
  job.Finish();
  std::vector<PatternBatch> batches = job.batches();
  for (PatternBatch& batch : batches) {
    for (StepRecord& step : batch.steps)
      step.duration_ns = batch.rank.value == 2 ? 42'000'000 : 12'000'000;
  }
  const CrossRankView view(batches, job.summaries());
  for (const Finding& finding : FindUnseenWaits(view)) {
    EXPECT_EQ(finding.explanation.find("All ranks have steps"), std::string::npos);
    EXPECT_THAT(finding.explanation, HasSubstr("take 12.0 ms (median)"));
  }
  const std::vector<Finding> findings = RootCause(DefaultOperators()).Diagnose(view);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].chain.back().description, HasSubstr("every step of rank 2 takes"));
  EXPECT_EQ(findings[0].title.find("holds"), std::string::npos) << findings[0].title;
}

// The account of waits charges nobody where there are none: the claim keeps its cost.
TEST(UnseenWaits, TheDifferenceIsWhatItMayCost) {
  TrainingView job = Job(4, {2});
  job.Finish();
  const CrossRankView view(job.batches(), job.summaries());
  const std::vector<Finding> findings = RootCause(DefaultOperators()).Diagnose(view);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, kUnseenWaits);
  EXPECT_NEAR(findings[0].lost_ns_per_step, 30e6, 1e3);
}

TEST(UnseenWaits, WhereWaitsAreSeenTheyTell) {
  TrainingView job = Job(4, {2});
  job.Finish();
  job.batches()[0].communicators = {CommId{7}};
  EXPECT_THAT(Found(job), IsEmpty());
}

TEST(UnseenWaits, OfTwoRanksNobodyCanSayWhichOneDiffers) {
  TrainingView two = Job(2, {1});
  EXPECT_THAT(Found(two.Finish()), IsEmpty());
  TrainingView half = Job(4, {1, 2});
  EXPECT_THAT(Found(half.Finish()), IsEmpty()) << "two wait, two run something else";
}

TEST(UnseenWaits, LittleOrOnceIsNoHabit) {
  TrainingView little(4, 16);
  little.RunOnAll(kWork, 40);
  little.Run(2, kSlow, 3);
  for (const uint32_t rank : {0u, 1u, 3u}) little.Run(rank, kExchange, 3);
  EXPECT_THAT(Found(little.Finish()), IsEmpty()) << "7 % of a step";
  TrainingView once(4, 16);
  once.RunOnAll(kWork, 10);
  once.RunInSteps(2, kSlow, 500, 3, 4);
  for (const uint32_t rank : {0u, 1u, 3u}) once.RunInSteps(rank, kExchange, 500, 3, 4);
  EXPECT_THAT(Found(once.Finish()), IsEmpty());
}

// Of eight samples in a window six say little; a region is measured however few they are.
TEST(UnseenWaits, SamplingNoiseIsNoDifference) {
  TrainingView job = Job(4, {2});
  EXPECT_THAT(Found(job.SampleStacks(8).Finish()), IsEmpty());
  TrainingView more = Job(4, {2});
  EXPECT_THAT(Found(more.SampleStacks(20).Finish()), SizeIs(1));
  TrainingView region(4, 16);
  region.RunOnAll(kWork, 10, "train.py(1): main");
  for (const uint32_t rank : {0u, 1u, 3u}) region.Run(rank, kExchange, 32, "train.py(1): main");
  region.Run(2, kExchange, 2, "train.py(1): main").Run(2, "augment", 30);
  const std::vector<Finding> found = Found(region.SampleStacks(8).Finish());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].function, "augment");
}

}  // namespace
}  // namespace eroica

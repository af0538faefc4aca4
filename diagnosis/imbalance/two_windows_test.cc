#include "diagnosis/imbalance/two_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "diagnosis/training_view.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kMostChance = 1e-10;
constexpr uint32_t kRank = 5;

// Steps of 50 ms that differ by one, on 16 ranks; the rank takes so many milliseconds longer in
// each of them.
TrainingView Steps(int64_t window, const std::vector<double>& more_ms) {
  constexpr uint32_t kRanks = 16;
  TrainingView job(kRanks, static_cast<uint32_t>(more_ms.size()));
  std::mt19937_64 random(static_cast<uint64_t>(window));
  std::normal_distribution<double> noise_ms(0, 1);
  job.RunOnAll("gemm", 50, "", FunctionClass::kGpuCompute);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    for (uint32_t step = 0; step < more_ms.size(); ++step)
      job.Jitter(rank, step, noise_ms(random) + (rank == kRank ? more_ms[step] : 0));
  }
  job.Finish();
  for (PatternBatch& batch : job.batches()) batch.window.index = window;
  return job;
}

std::vector<BusyTime> LateIn(const std::vector<double>& before_ms,
                             const std::vector<double>& now_ms) {
  TrainingView first = Steps(1, before_ms);
  const CrossRankView before(first.batches(), {});
  const std::vector<RankTimes> times = {before.rank_times()};
  const std::vector<PatternBatch> profiles = {before.profile()};
  TrainingView second = Steps(2, now_ms);
  return LateInTwoWindows(
      CrossRankView(second.batches(), {}, {.profiles = profiles, .times = times}), kMostChance);
}

TEST(TwoWindows, TellTogetherWhatNeitherTells) {
  const std::vector<BusyTime> late = LateIn({8, 8, 8}, {8, 8, 8});
  ASSERT_THAT(late, SizeIs(1));
  EXPECT_EQ(late[0].rank, kRank);
  EXPECT_EQ(late[0].steps, 6u);
  EXPECT_EQ(late[0].slow_steps, 6u);
  EXPECT_NEAR(late[0].excess_ns / kMillisecond, 8, 1);
  TrainingView alone = Steps(2, {8, 8, 8});
  EXPECT_GT(CrossRankView(alone.batches(), {}).busy_times()[kRank].chance, kMostChance);
  EXPECT_LE(late[0].chance, kMostChance);
}

TEST(TwoWindows, TheFewerStepsTheWindowBeforeHadTheLessItTells) {
  const std::vector<BusyTime> late = LateIn({9}, {9, 9, 9});
  ASSERT_THAT(late, SizeIs(1));
  EXPECT_EQ(late[0].steps, 4u);
  EXPECT_GT(late[0].chance, LateIn({9, 9, 9}, {9, 9, 9})[0].chance);
}

TEST(TwoWindows, WhatOneOfThemShowsIsOfNoTwo) {
  EXPECT_THAT(LateIn({0, 0, 0}, {7, 7, 7}), IsEmpty());
  EXPECT_THAT(LateIn({7, 7, 7}, {0, 0, 0}), IsEmpty());
  EXPECT_THAT(LateIn({90, 0, 0}, {6, 6, 6}), IsEmpty()) << "a single step";
  EXPECT_THAT(LateIn({6, 6, 6}, {30, 0, 0}), IsEmpty()) << "a single step";
}

TEST(TwoWindows, OfWhichTheFirstIsNotKnownAreOne) {
  TrainingView only = Steps(2, {7, 7, 7});
  EXPECT_THAT(LateInTwoWindows(CrossRankView(only.batches(), {}), kMostChance), IsEmpty());
}

}  // namespace
}  // namespace eroica

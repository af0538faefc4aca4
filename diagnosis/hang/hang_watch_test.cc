#include "diagnosis/hang/hang_watch.h"

#include <gtest/gtest.h>

#include <random>

#include "diagnosis/hang/standing_job.h"

namespace eroica {
namespace {

constexpr int64_t kSecond = StandingJob::kSecond;

RankStanding Standing(uint32_t rank, int64_t seconds, uint32_t world_size = 3, int64_t step = 42) {
  RankStanding standing = StandingJob(world_size)[rank];
  standing.time_ns = standing.last_progress_ns + seconds * kSecond;
  standing.step = step;
  return standing;
}

PatternBatch Window(uint32_t rank, int64_t last_step) {
  PatternBatch batch;
  batch.job = JobId{"job"};
  batch.rank = RankId{rank};
  batch.world_size = 3;
  batch.window = {.kind = WindowKind::kSteps,
                  .index = last_step / 10,
                  .start_ns = 0,
                  .end_ns = 1,
                  .first_step = 0,
                  .last_step = last_step};
  return batch;
}

TEST(HangWatch, WaitsUntilAllHaveStoodForLongEnough) {
  HangWatch watch;
  int64_t offset = 7;
  for (int64_t seconds = 1; seconds < 10; ++seconds) {
    for (uint32_t rank = 0; rank < 3; ++rank) watch.Add(Standing(rank, seconds), offset++);
  }
  EXPECT_FALSE(watch.TakeDue(false));
  EXPECT_FALSE(watch.FirstOffset());
  watch.Add(Standing(0, 10), 100);
  watch.Add(Standing(2, 10), 101);
  EXPECT_FALSE(watch.TakeDue(false)) << "rank 1 may still get on";
  EXPECT_EQ(watch.FirstOffset(), 100);
  watch.Add(Standing(1, 10), 102);
  const auto due = watch.TakeDue(false);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->level, 0);
  EXPECT_EQ(due->step, 42);
  EXPECT_EQ(due->view.standings.size(), 3u);
  EXPECT_TRUE(due->view.silent.empty());
  EXPECT_FALSE(watch.TakeDue(false)) << "once a level";
  EXPECT_FALSE(watch.FirstOffset());
}

TEST(HangWatch, RanksThatAJobGoesOnWithoutAreNotSilent) {
  HangWatch watch;
  for (uint32_t rank = 0; rank < 4; ++rank) watch.Hear(Window(rank, 19));
  watch.Add(Standing(3, 1, 4, 20), 0);
  for (int64_t seconds = 9; seconds < 40; ++seconds) {
    for (uint32_t rank = 0; rank < 2; ++rank) watch.Add(Standing(rank, seconds, 3, 60), 0);
  }
  const auto due = watch.TakeDue(true);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->view.world_size, 3u);
  EXPECT_EQ(due->view.silent, std::vector<RankId>{RankId{2}});
}

TEST(HangWatch, LooksAgainWhenTheyHaveStoodTwiceAsLong) {
  HangWatch watch;
  std::vector<int> levels;
  for (int64_t seconds = 1; seconds <= 45; ++seconds) {
    for (uint32_t rank = 0; rank < 3; ++rank) {
      watch.Add(Standing(rank, seconds), 0);
      while (const auto due = watch.TakeDue(false)) {
        levels.push_back(due->level);
        for (const RankStanding* standing : due->view.standings)
          EXPECT_EQ(standing->stalled_ns(), (10 << due->level) * kSecond);
      }
    }
  }
  EXPECT_EQ(levels, (std::vector<int>{0, 1, 2}));
}

TEST(HangWatch, TheOrderOfArrivalDoesNotShow) {
  std::vector<RankStanding> standings;
  for (int64_t seconds = 1; seconds <= 45; ++seconds) {
    for (uint32_t rank = 0; rank < 3; ++rank)
      standings.push_back(Standing(rank, seconds, 3, 42 + rank % 2));
  }
  const auto run = [](const std::vector<RankStanding>& order) {
    HangWatch watch;
    std::vector<std::vector<RankStanding>> views;
    for (const RankStanding& standing : order) {
      watch.Add(standing, 0);
      while (const auto due = watch.TakeDue(false)) views.push_back(due->standings);
    }
    return views;
  };
  const auto expected = run(standings);
  EXPECT_EQ(expected.size(), 3u);
  // Rank by rank, as files are read.
  std::stable_sort(standings.begin(), standings.end(),
                   [](const RankStanding& a, const RankStanding& b) { return a.rank < b.rank; });
  EXPECT_EQ(run(standings), expected);
}

TEST(HangWatch, TheThresholdGrowsWithTheSteps) {
  HangWatch watch;
  RankStanding standing = Standing(0, 49);
  EXPECT_EQ(watch.LevelOf(standing), 2);
  standing.step_mean_ns = 10 * kSecond;
  EXPECT_EQ(watch.LevelOf(standing), -1) << "five steps are 50 s";
  standing.step_mean_ns = 0;
  EXPECT_EQ(watch.LevelOf(Standing(0, 250)), 4);
  standing = Standing(0, 250);
  standing.step_mean_ns = 0;
  EXPECT_EQ(watch.LevelOf(standing), -1) << "the first step may compile";
  standing.timed_out = true;
  EXPECT_EQ(watch.LevelOf(standing), 0);
}

TEST(HangWatch, APauseIsNoHang) {
  HangWatch watch;
  RankStanding standing = Standing(0, 599);
  standing.pause = Pause::kCheckpoint;
  EXPECT_EQ(watch.LevelOf(standing), -1);
  standing.time_ns += kSecond;
  EXPECT_EQ(watch.LevelOf(standing), 0);
}

TEST(HangWatch, ARankThatWasHeardOfAndSaysNoMoreIsSilent) {
  HangWatch watch;
  watch.Hear(Window(1, 41));
  std::optional<HangWatch::Due> due;
  for (int64_t seconds = 1; seconds <= 30 && !due; ++seconds) {
    watch.Add(Standing(0, seconds), 0);
    watch.Add(Standing(2, seconds), 0);
    due = watch.TakeDue(false);
  }
  ASSERT_TRUE(due);
  EXPECT_EQ(due->view.silent, (std::vector<RankId>{RankId{1}}));
  EXPECT_EQ(due->view.standings.size(), 2u);
}

TEST(HangWatch, ARankThatWasNeverHeardOfIsSilentOnlyAtTheEnd) {
  HangWatch watch;
  for (int64_t seconds = 1; seconds <= 60; ++seconds) {
    watch.Add(Standing(0, seconds), 0);
    watch.Add(Standing(2, seconds), 0);
  }
  EXPECT_FALSE(watch.TakeDue(false));
  const auto due = watch.TakeDue(true);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->view.silent, (std::vector<RankId>{RankId{1}}));
}

TEST(HangWatch, AStragglingReportIsNoHang) {
  HangWatch watch;
  for (uint32_t rank = 0; rank < 3; ++rank) watch.Hear(Window(rank, 49));
  watch.Add(Standing(1, 12), 0);
  EXPECT_FALSE(watch.TakeDue(true)) << "the others do not stand";
}

TEST(HangWatch, WhoGetsOnIsNotSilent) {
  HangWatch watch;
  watch.Add(Standing(0, 12), 0);
  watch.Add(Standing(2, 12), 0);
  watch.Hear(Window(1, 49));
  EXPECT_FALSE(watch.TakeDue(true));
}

TEST(HangWatch, WhoHasStoodForLessIsNotSilent) {
  HangWatch watch;
  watch.Add(Standing(0, 12), 0);
  watch.Add(Standing(2, 12), 0);
  watch.Add(Standing(1, 3), 0);
  EXPECT_FALSE(watch.TakeDue(true));
}

TEST(HangWatch, WhereMostAreSilentTheTelemetryIsGone) {
  HangWatch watch;
  watch.Add(Standing(0, 12), 0);
  EXPECT_FALSE(watch.TakeDue(true));
}

TEST(HangWatch, ALaterStandstillIsAnother) {
  HangWatch watch;
  for (uint32_t rank = 0; rank < 3; ++rank) watch.Add(Standing(rank, 12), 0);
  EXPECT_TRUE(watch.TakeDue(false));
  for (uint32_t rank = 0; rank < 3; ++rank) watch.Add(Standing(rank, 12, 3, 60), 0);
  const auto due = watch.TakeDue(false);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->step, 60);
  EXPECT_EQ(due->level, 0);
}

TEST(HangWatch, AfterARestartNothingIsLookedAtAgain) {
  HangWatch watch;
  watch.RestoreLookedAt(42, 1);
  for (int64_t seconds = 1; seconds <= 39; ++seconds) {
    for (uint32_t rank = 0; rank < 3; ++rank) watch.Add(Standing(rank, seconds), 0);
  }
  EXPECT_FALSE(watch.TakeDue(true));
  for (uint32_t rank = 0; rank < 3; ++rank) watch.Add(Standing(rank, 40), 0);
  EXPECT_EQ(watch.TakeDue(false)->level, 2);
}

}  // namespace
}  // namespace eroica

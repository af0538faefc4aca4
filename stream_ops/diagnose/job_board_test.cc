#include "stream_ops/diagnose/job_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const JobId kNight("night");

WindowSnapshot Window(int64_t index, uint64_t bytes) {
  WindowSnapshot snapshot;
  snapshot.summary.index = index;
  auto detail = std::make_shared<WindowDetail>();
  detail->bytes = bytes;
  snapshot.detail = std::move(detail);
  return snapshot;
}

size_t Details(const BoardJob& job) {
  return static_cast<size_t>(std::ranges::count_if(
      job.windows, [](const auto& window) { return window->detail != nullptr; }));
}

TEST(JobBoardTest, ShowsWhatItsTasksPublish) {
  JobBoard board(1'000'000);
  JobBoard::Share share(board);
  EXPECT_EQ(board.Find(kNight), nullptr);
  const uint64_t before = board.version();
  share.Publish(kNight, Window(4, 10), 99);
  share.Publish(kNight, Window(5, 10), 100);
  const auto job = board.Find(kNight);
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->newest.index, 5);
  EXPECT_EQ(job->diagnosed_at_ns, 100);
  EXPECT_THAT(job->windows, SizeIs(2));
  EXPECT_GT(board.version(), before);
}

TEST(JobBoardTest, WhatIsHeldStaysAsItWas) {
  JobBoard board(1'000'000);
  JobBoard::Share share(board);
  share.Publish(kNight, Window(1, 10), 0);
  const auto held = board.Find(kNight);
  share.Publish(kNight, Window(2, 10), 0);
  share.Forget(kNight);
  EXPECT_THAT(held->windows, SizeIs(1));
  EXPECT_EQ(board.Find(kNight), nullptr);
  EXPECT_EQ(board.bytes(), 0U);
}

TEST(JobBoardTest, TheLargestJobLosesItsOldestDetailsAndKeepsItsNewest) {
  JobBoard board(100'000);
  JobBoard::Share share(board);
  share.Publish(JobId("small"), Window(1, 1'000), 0);
  share.Publish(JobId("small"), Window(2, 1'000), 0);
  for (int64_t index = 0; index < 4; ++index) share.Publish(kNight, Window(index, 30'000), 0);
  const auto large = board.Find(kNight);
  ASSERT_THAT(large->windows, SizeIs(4));
  EXPECT_EQ(large->windows[0]->detail, nullptr);
  EXPECT_NE(large->windows[1]->detail, nullptr);
  EXPECT_NE(large->windows[3]->detail, nullptr);
  EXPECT_EQ(Details(*board.Find(JobId("small"))), 2U);
  EXPECT_EQ(board.details_evicted(), 1U);
  EXPECT_LE(board.bytes(), 100'000U);

  share.Publish(kNight, Window(4, 900'000), 0);
  EXPECT_THAT(board.Find(kNight)->windows, SizeIs(1));
  EXPECT_EQ(board.Find(kNight)->windows[0]->summary.index, 4);
  EXPECT_NE(board.Find(kNight)->windows[0]->detail, nullptr);
}

TEST(JobBoardTest, HoldsNoMoreThanItsWindowsAndDetails) {
  JobBoard board(uint64_t{1} << 30);
  JobBoard::Share share(board);
  for (int64_t index = 0; index < 300; ++index) share.Publish(kNight, Window(index, 1), 0);
  const auto job = board.Find(kNight);
  EXPECT_THAT(job->windows, SizeIs(JobBoard::kWindowsMax));
  EXPECT_EQ(Details(*job), JobBoard::kDetailsMax);
  EXPECT_EQ(job->windows.front()->summary.index, 300 - 256);
  EXPECT_EQ(job->windows.back()->summary.index, 299);
}

TEST(JobBoardTest, JobsLeaveWithTheirTask) {
  JobBoard board(1'000'000);
  std::optional<JobBoard::Share> before(board);
  before->Publish(kNight, Window(1, 10), 0);
  before->Publish(JobId("other"), Window(1, 10), 0);
  JobBoard::Share now(board);
  now.Restore(kNight, {});
  before.reset();
  EXPECT_EQ(board.Find(JobId("other")), nullptr);
  ASSERT_NE(board.Find(kNight), nullptr) << "it is the new task's";
  EXPECT_THAT(board.Find(kNight)->windows, SizeIs(1));
}

TEST(JobBoardTest, JobsStayWhereNobodyTakesThemOver) {
  JobBoard board(1'000'000, JobBoard::JobsOfEndedTask::kStay);
  std::optional<JobBoard::Share> before(board);
  before->Publish(kNight, Window(1, 10), 0);
  before.reset();
  ASSERT_NE(board.Find(kNight), nullptr);
  EXPECT_THAT(board.Find(kNight)->windows, SizeIs(1));
  JobBoard::Share now(board);
  now.Publish(kNight, Window(2, 10), 0);
  EXPECT_THAT(board.Find(kNight)->windows, SizeIs(2)) << "another task may go on with it";
}

TEST(JobBoardTest, CountsWindowsEventsAndHowLateTheyWereDiagnosed) {
  JobBoard board(1'000'000);
  JobBoard::Share share(board);
  for (const int64_t after_ms : {0, 60, 300, 10'000'000}) {
    WindowSnapshot window = Window(0, 1);
    window.summary.timestamp_ms = 5'000;
    window.summary.completeness = {.events = 10, .late = 1, .lost = 2};
    share.Publish(kNight, std::move(window), (5'000 + after_ms) * kNsPerMs);
  }
  const BoardCounts counts = board.counts();
  EXPECT_EQ(counts.windows, 4U);
  EXPECT_EQ(counts.events.events, 40U);
  EXPECT_EQ(counts.events.lost, 8U);
  EXPECT_EQ(counts.newest_ms, 5'000);
  EXPECT_EQ(counts.latency.count, 4U);
  EXPECT_EQ(counts.latency.buckets[0], 1U);
  EXPECT_EQ(counts.latency.buckets[1], 1U);
  EXPECT_EQ(counts.latency.buckets[3], 1U);
  EXPECT_NEAR(counts.latency.sum_seconds, 10'000.36, 1e-6);
}

TEST(JobBoardTest, ARestoredJobHasNoWindowsYet) {
  JobBoard board(1'000'000);
  JobBoard::Share share(board);
  share.Restore(kNight, {.index = 7});
  ASSERT_NE(board.Find(kNight), nullptr);
  EXPECT_THAT(board.Find(kNight)->windows, IsEmpty());
  EXPECT_EQ(board.Find(kNight)->newest.index, 7);
  ASSERT_THAT(board.Jobs(), SizeIs(1));
}

}  // namespace
}  // namespace eroica

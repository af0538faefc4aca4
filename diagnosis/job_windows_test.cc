#include "diagnosis/job_windows.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

PatternBatch Batch(uint32_t rank, int64_t index, uint32_t world_size = 2, bool final = false) {
  PatternBatch batch;
  batch.job = JobId{"job"};
  batch.rank = RankId{rank};
  batch.world_size = world_size;
  batch.window = {.kind = WindowKind::kSteps, .index = index};
  batch.final = final;
  batch.communicators = {CommId{5}};
  return batch;
}

CollectiveSummary Summary(int64_t index) {
  CollectiveSummary summary;
  summary.job = JobId{"job"};
  summary.communicator = CommId{5};
  summary.window = {.kind = WindowKind::kSteps, .index = index};
  return summary;
}

constexpr WindowId Id(int64_t index) { return {WindowKind::kSteps, index}; }

TEST(JobWindows, IsCompleteWhenAllRanksAndTheirCommunicatorsReported) {
  JobWindows windows;
  windows.Add(Batch(0, 3), 10, 100);
  windows.Add(Batch(1, 3), 11, 100);
  EXPECT_FALSE(windows.OldestComplete());
  windows.Add(Summary(3), 12, 120);
  EXPECT_EQ(windows.OldestComplete(), Id(3));
  const JobWindow window = windows.Close(Id(3));
  EXPECT_EQ(window.batches.size(), 2u);
  EXPECT_EQ(window.summaries.size(), 1u);
  EXPECT_EQ(window.timestamp_ms, 120);
}

TEST(JobWindows, WaitsForEveryRankOfTheWorld) {
  JobWindows windows;
  windows.Add(Summary(3), 1, 0);
  windows.Add(Batch(0, 3), 2, 0);
  EXPECT_FALSE(windows.OldestComplete());
  EXPECT_EQ(windows.Oldest(), Id(3));
}

TEST(JobWindows, ARankThatIsPastOrFinishedIsNotWaitedFor) {
  JobWindows windows;
  windows.Add(Batch(0, 3), 1, 0);
  windows.Add(Summary(3), 2, 0);
  windows.Add(Batch(1, 4), 3, 0);
  EXPECT_EQ(windows.OldestComplete(), Id(3));
  windows.Close(Id(3));
  windows.Add(Summary(4), 4, 0);
  windows.Add(Batch(0, 4, 2, true), 5, 0);
  windows.Close(*windows.OldestComplete());
  windows.Add(Batch(1, 5), 6, 0);
  windows.Add(Summary(5), 7, 0);
  EXPECT_EQ(windows.OldestComplete(), Id(5));
}

TEST(JobWindows, WindowsCloseInOrder) {
  JobWindows windows;
  for (const uint32_t rank : {0u, 1u}) windows.Add(Batch(rank, 4), rank, 0);
  windows.Add(Summary(4), 2, 0);
  windows.Add(Batch(0, 3), 3, 0);
  EXPECT_EQ(windows.OldestComplete(), Id(3));  // rank 1 and the communicator are past it
  windows.Close(Id(3));
  EXPECT_EQ(windows.OldestComplete(), Id(4));
}

TEST(JobWindows, DuplicatesAndLatecomersAreTold) {
  JobWindows windows;
  EXPECT_EQ(windows.Add(Batch(0, 3), 1, 0), JobWindows::Added::kAdded);
  EXPECT_EQ(windows.Add(Batch(0, 3), 2, 0), JobWindows::Added::kDuplicate);
  windows.Close(Id(3));
  EXPECT_EQ(windows.Add(Batch(0, 3), 3, 0), JobWindows::Added::kClosed);
  EXPECT_EQ(windows.Add(Summary(2), 4, 0), JobWindows::Added::kClosed);
}

TEST(JobWindows, RestartsFromTheFirstRecordOfAnOpenWindow) {
  JobWindows windows;
  EXPECT_FALSE(windows.FirstOffset());
  windows.Add(Batch(0, 3), 7, 0);
  windows.Add(Batch(0, 4), 8, 0);
  EXPECT_EQ(windows.FirstOffset(), 7);
  windows.Close(Id(3));
  EXPECT_EQ(windows.FirstOffset(), 8);
}

TEST(JobWindows, ClosedWindowsStayClosedAfterARestart) {
  JobWindows windows;
  windows.RestoreClosed(Id(3));
  EXPECT_EQ(windows.Add(Batch(0, 3), 1, 0), JobWindows::Added::kClosed);
  EXPECT_EQ(windows.Add(Batch(0, 4), 2, 0), JobWindows::Added::kAdded);
}

}  // namespace
}  // namespace eroica

#include "stream_ops/diagnose/job_windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

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

TEST(JobWindows, ASummaryThatComesBeforeAllBatchesWaitsForThem) {
  JobWindows windows;
  CollectiveSummary summary = Summary(3);
  summary.world_size = 2;
  windows.Add(summary, 1, 0);
  EXPECT_FALSE(windows.OldestComplete());
  windows.Add(Batch(0, 3), 2, 0);
  EXPECT_FALSE(windows.OldestComplete());
  windows.Add(Batch(1, 3), 3, 0);
  EXPECT_EQ(windows.OldestComplete(), Id(3));
  EXPECT_EQ(windows.Close(Id(3)).batches.size(), 2u);
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

TEST(JobWindows, AJobThatGoesOnWithFewerRanksWaitsForNoOthers) {
  JobWindows windows;
  windows.Add(Summary(2), 0, 0);  // of the communicator that all name
  const auto of_process = [](uint32_t pid, PatternBatch batch) {
    batch.pid = pid;
    return batch;
  };
  for (uint32_t rank = 0; rank < 3; ++rank)
    windows.Add(of_process(7, Batch(rank, 0, 3, rank > 0)), 0, 0);
  EXPECT_EQ(windows.OldestComplete(), Id(0));
  windows.Close(Id(0));
  windows.Add(of_process(8, Batch(0, 1)), 1, 0);
  EXPECT_FALSE(windows.OldestComplete())
      << "rank 1 said its last word, and the job was started anew since";
  windows.Add(of_process(8, Batch(0, 2)), 2, 0);
  windows.Add(of_process(8, Batch(1, 1)), 3, 0);
  EXPECT_EQ(windows.OldestComplete(), Id(1)) << "without rank 2";
  windows.Close(Id(1));
  EXPECT_FALSE(windows.OldestComplete());
  windows.Add(of_process(8, Batch(1, 2)), 4, 0);
  EXPECT_EQ(windows.OldestComplete(), Id(2));
}

// A container that is started again has the process number that it had.
TEST(JobWindows, ALastWordIsNoneWhereTheRankGoesOn) {
  JobWindows windows;
  for (uint32_t rank = 0; rank < 2; ++rank) windows.Add(Batch(rank, 0, 2, true), 0, 0);
  windows.Close(Id(0));
  windows.Add(Batch(0, 1), 1, 0);
  EXPECT_FALSE(windows.OldestComplete());
}

TEST(JobWindows, ClosedWindowsStayClosedAfterARestart) {
  JobWindows windows;
  windows.RestoreClosed(Id(3));
  EXPECT_EQ(windows.Add(Batch(0, 3), 1, 0), JobWindows::Added::kClosed);
  EXPECT_EQ(windows.Add(Batch(0, 4), 2, 0), JobWindows::Added::kAdded);
}

// What OldestComplete means, looked at anew each time.
class Model {
 public:
  void Add(const PatternBatch& batch) {
    const int64_t index = batch.window.index;
    if (final_.contains(batch.rank.value) && index > reached_[batch.rank.value]) final_.clear();
    reached_[batch.rank.value] = std::max(reached_[batch.rank.value], index);
    if (batch.final) final_.insert(batch.rank.value);
    if (index > closed_) batches_[index].emplace(batch.rank.value, batch.communicators);
  }
  void Add(const CollectiveSummary& summary) {
    const int64_t index = summary.window.index;
    summarized_[summary.communicator] = std::max(summarized_[summary.communicator], index);
    if (index <= closed_) return;
    batches_[index];
    summaries_.insert({index, summary.communicator});
  }
  std::optional<WindowId> OldestComplete(uint32_t world_size) const {
    if (batches_.empty()) return std::nullopt;
    const auto& [index, batches] = *batches_.begin();
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      const auto reached = reached_.find(rank);
      const bool passed =
          final_.contains(rank) || (reached != reached_.end() && reached->second > index);
      if (!batches.contains(rank) && !passed) return std::nullopt;
    }
    for (const auto& [rank, communicators] : batches) {
      for (const CommId communicator : communicators) {
        const auto reached = summarized_.find(communicator);
        if (!summaries_.contains({index, communicator}) &&
            (reached == summarized_.end() || reached->second <= index))
          return std::nullopt;
      }
    }
    return Id(index);
  }
  void Close(WindowId id) {
    batches_.erase(id.second);
    closed_ = id.second;
  }

 private:
  int64_t closed_ = -1;
  std::map<int64_t, std::map<uint32_t, std::vector<CommId>>> batches_;
  std::set<std::pair<int64_t, CommId>> summaries_;
  std::map<uint32_t, int64_t> reached_;
  std::map<CommId, int64_t> summarized_;
  std::set<uint32_t> final_;
};

TEST(JobWindows, WhatWasCheckedStaysTrueInAnyOrderOfRecords) {
  constexpr uint32_t kRanks = 5;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    JobWindows windows;
    Model model;
    for (int i = 0; i < 60; ++i) {
      const auto index = static_cast<int64_t>(random() % 4);
      if (random() % 3 == 0) {
        CollectiveSummary summary = Summary(index);
        summary.communicator = CommId{random() % 3};
        summary.world_size = kRanks;  // as every batch says
        model.Add(summary);
        windows.Add(summary, i, 0);
      } else {
        PatternBatch batch =
            Batch(static_cast<uint32_t>(random() % kRanks), index, kRanks, random() % 20 == 0);
        batch.communicators = {CommId{batch.rank.value % 3}, CommId{(batch.rank.value + 1) % 3}};
        model.Add(batch);
        windows.Add(batch, i, 0);
      }
      ASSERT_EQ(windows.OldestComplete(), model.OldestComplete(kRanks))
          << "seed " << seed << ", record " << i;
      if (const auto complete = windows.OldestComplete(); complete && random() % 2 == 0) {
        windows.Close(*complete);
        model.Close(*complete);
      }
    }
  }
}

}  // namespace
}  // namespace eroica

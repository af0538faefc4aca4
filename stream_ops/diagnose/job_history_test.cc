#include "stream_ops/diagnose/job_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/measurements/training_view.h"
#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

const JobId kJob("job");

TrainingView Window(WindowKind kind, int64_t index) {
  TrainingView job(4);
  job.RunOnAll("forward", 80 + static_cast<double>(index % 5));
  job.Finish();
  for (PatternBatch& batch : job.batches()) {
    batch.window.kind = kind;
    batch.window.index = index;
  }
  return job;
}

// The rows that a store holds after these changes.
using Rows = std::map<std::string, std::string>;

void Remember(WindowKind kind, int64_t index, JobHistory& history, Rows& rows) {
  TrainingView window = Window(kind, index);
  StateChanges changes;
  history.Remember(kJob, CrossRankView(window.batches(), window.summaries()), changes);
  for (const StateChanges::Change& change : changes.changes()) rows[change.key] = change.value;
}

JobHistory Restored(const Rows& rows) {
  JobHistory history;
  for (const auto& [key, value] : rows) {
    auto row = DecodeProgressKey(key);
    EXPECT_TRUE(row.has_value());
    EXPECT_TRUE(history.Restore(*std::move(row), value).ok());
  }
  history.FinishRestore();
  return history;
}

void ExpectSame(const JobHistory& a, const JobHistory& b) {
  for (const WindowKind kind : {WindowKind::kTime, WindowKind::kSteps}) {
    const PastWindows left = a.Past(kind);
    const PastWindows right = b.Past(kind);
    EXPECT_TRUE(std::ranges::equal(left.profiles, right.profiles));
    EXPECT_TRUE(std::ranges::equal(left.times, right.times));
    EXPECT_TRUE(std::ranges::equal(left.work, right.work));
    EXPECT_TRUE(std::ranges::equal(left.bytes, right.bytes));
  }
}

// At every length, so that slots that go round are met as well.
TEST(JobHistory, ARestartGoesOnWithTheSamePast) {
  JobHistory history;
  Rows rows;
  for (int64_t index = 3; index < 80; ++index) {
    Remember(WindowKind::kSteps, index, history, rows);
    ExpectSame(Restored(rows), history);
  }
  EXPECT_EQ(history.Past(WindowKind::kSteps).profiles.size(), 32u);
  EXPECT_EQ(history.Past(WindowKind::kSteps).times.size(), 31u);
  EXPECT_EQ(history.Past(WindowKind::kSteps).times.back().window.index, 79);
}

TEST(JobHistory, WhatIsStoredIsBounded) {
  JobHistory history;
  Rows rows;
  for (int64_t index = 0; index < 200; ++index) Remember(WindowKind::kSteps, index, history, rows);
  EXPECT_EQ(rows.size(), 4u * 32);
}

TEST(JobHistory, WindowsOfTimeAndOfStepsAreApart) {
  JobHistory history;
  Rows rows;
  for (int64_t index = 0; index < 5; ++index) {
    Remember(WindowKind::kSteps, index, history, rows);
    Remember(WindowKind::kTime, 100 + index, history, rows);
  }
  ExpectSame(Restored(rows), history);
  EXPECT_EQ(history.Past(WindowKind::kSteps).times.back().window.index, 4);
  EXPECT_EQ(history.Past(WindowKind::kTime).times.back().window.index, 104);
}

TEST(JobHistory, ARunThatBeginsHasNoPast) {
  JobHistory history;
  Rows rows;
  for (int64_t index = 0; index < 40; ++index) Remember(WindowKind::kSteps, index, history, rows);
  Remember(WindowKind::kTime, 7, history, rows);
  StateChanges changes;
  history.Forget(kJob, WindowKind::kSteps, changes);
  for (const StateChanges::Change& change : NotEmpty(changes.changes())) {
    EXPECT_EQ(change.kind, StateChanges::Change::Kind::kDelete);
    rows.erase(change.key);
  }
  EXPECT_EQ(rows.size(), 4u) << "those of the window of time";
  EXPECT_TRUE(history.Past(WindowKind::kSteps).times.empty());
  EXPECT_EQ(history.Past(WindowKind::kTime).times.size(), 1u);
  Remember(WindowKind::kSteps, 40, history, rows);
  ExpectSame(Restored(rows), history);
}

TEST(JobHistory, WhatIsNoRowOfHistoryIsRefused) {
  JobHistory history;
  Rows rows;
  Remember(WindowKind::kSteps, 1, history, rows);
  for (const auto& [key, value] : rows) {
    JobHistory fresh;
    EXPECT_FALSE(fresh.Restore(*DecodeProgressKey(key), "nonsense").ok());
    EXPECT_FALSE(fresh.Restore(*DecodeProgressKey(key + "x"), value).ok());
  }
  const std::string foreign = BeginProgressKey(kJob, ProgressFamily::kRank).PutUint32(1).key();
  EXPECT_FALSE(history.Restore(*DecodeProgressKey(foreign), "").ok());
}

}  // namespace
}  // namespace eroica

#include "stream_ops/job_ages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "state_store/in_memory_store.h"
#include "state_store/key_encoding.h"
#include "state_store/key_schema.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const JobId kA("a");
const JobId kB("b");
const JobId kC("c");
constexpr int64_t kFar = 1'000'000;  // a restart reads nothing before it

TEST(JobAges, TheOldestOfThoseThatEndedGo) {
  JobAges ages({.silent_minutes = 10, .ended_kept = 1});
  for (const JobId& job : {kA, kB, kC}) ages.Hear(job, 1, true);
  ages.End(kB);
  EXPECT_FALSE(ages.may_be_over());
  EXPECT_THAT(ages.TakeOver(kFar), IsEmpty());
  ages.End(kA);
  EXPECT_TRUE(ages.may_be_over());
  EXPECT_THAT(ages.TakeOver(kFar), ElementsAre(kB));
  ages.End(kC);
  EXPECT_THAT(ages.TakeOver(kFar), ElementsAre(kA));
  EXPECT_EQ(ages.size(), 1u);
}

TEST(JobAges, AJobThatGoesOnHasNotEnded) {
  JobAges ages({.silent_minutes = 10, .ended_kept = 0});
  ages.Hear(kA, 1, true);
  ages.End(kA);
  ages.Hear(kA, 2, true);
  EXPECT_THAT(ages.TakeOver(kFar), IsEmpty());
  ages.End(kA);
  ages.Hear(kA, 3, false);  // late
  EXPECT_THAT(ages.TakeOver(kFar), ElementsAre(kA));
}

TEST(JobAges, SilenceEndsAJob) {
  JobAges ages({.silent_minutes = 2, .ended_kept = 8});
  ages.Hear(kA, 1, true);
  ages.Hear(kB, 2, true);
  ages.Tick();
  EXPECT_THAT(ages.TakeOver(kFar), IsEmpty());
  ages.Hear(kB, 3, true);
  ages.Tick();
  EXPECT_THAT(ages.TakeOver(kFar), ElementsAre(kA));
  EXPECT_THAT(ages.TakeOver(kFar), IsEmpty());
  ages.Tick();
  EXPECT_THAT(ages.TakeOver(kFar), ElementsAre(kB));
}

// It would be met as a new one, half of it.
TEST(JobAges, WhatARestartReadsAgainStays) {
  JobAges ages({.silent_minutes = 1, .ended_kept = 0});
  ages.Hear(kA, 5, true);
  ages.End(kA);
  ages.Hear(kB, 7, true);
  ages.Tick();
  EXPECT_THAT(ages.TakeOver(5), IsEmpty());
  EXPECT_THAT(ages.TakeOver(6), ElementsAre(kA));
  ages.Tick();
  EXPECT_THAT(ages.TakeOver(8), ElementsAre(kB));
}

// A restart in between, from rows that were kept.
class JobAgesRestart : public ::testing::Test {
 protected:
  static JobAges Restored(const StateChanges& kept, JobRetention retention) {
    JobAges ages(retention);
    for (const JobId& job : {kA, kB, kC}) ages.Restore(job);
    for (const StateChanges::Change& change : kept.changes()) {
      const auto row = DecodeProgressKey(change.key);
      EXPECT_TRUE(row && ages.RestoreRow(row->job, change.value));
    }
    return ages;
  }
};

TEST_F(JobAgesRestart, KnowsInWhichOrderJobsHaveEnded) {
  JobAges before({.silent_minutes = 10, .ended_kept = 2});
  StateChanges kept;
  for (const JobId& job : {kC, kA}) {
    before.Hear(job, 1, true);
    before.End(job);
  }
  before.Hear(kB, 1, true);
  before.Keep(kept);
  JobAges after = Restored(kept, {.silent_minutes = 10, .ended_kept = 2});
  EXPECT_TRUE(after.has_ended(kA) && after.has_ended(kC) && !after.has_ended(kB));
  EXPECT_THAT(after.TakeOver(kFar), IsEmpty());
  after.End(kB);
  EXPECT_THAT(after.TakeOver(kFar), ElementsAre(kC));
}

TEST_F(JobAgesRestart, AJobThatHasGoneOnIsNotOver) {
  JobAges before({.silent_minutes = 10, .ended_kept = 0});
  before.Hear(kA, 1, true);
  before.End(kA);
  StateChanges kept;
  before.Keep(kept);
  before.Hear(kA, 2, true);
  StateChanges later;
  before.Keep(later);
  ASSERT_EQ(later.changes().size(), 1u);
  EXPECT_EQ(later.changes().front().kind, StateChanges::Change::Kind::kDelete);
}

// A node that is started anew every day would never forget anybody.
TEST_F(JobAgesRestart, HoursOfSilenceAreKept) {
  JobAges before({.silent_minutes = 130, .ended_kept = 8});
  before.Hear(kA, 1, true);
  StateChanges kept;
  for (int minute = 0; minute < 125; ++minute) before.Tick();
  before.Hear(kB, 2, true);
  before.Keep(kept);
  JobAges after = Restored(kept, {.silent_minutes = 130, .ended_kept = 8});
  for (int minute = 0; minute < 10; ++minute) after.Tick();
  EXPECT_THAT(after.TakeOver(kFar), ElementsAre(kA));
}

TEST_F(JobAgesRestart, RefusesWhatIsNoRow) {
  JobAges ages;
  EXPECT_FALSE(ages.RestoreRow(kA, "nonsense"));
  EXPECT_FALSE(ages.RestoreRow(kA, KeyWriter().PutInt64(-1).PutInt64(0).key()));
  EXPECT_FALSE(ages.RestoreRow(kA, KeyWriter().PutInt64(0).PutInt64(-2).key()));
  EXPECT_TRUE(ages.RestoreRow(kA, KeyWriter().PutInt64(0).PutInt64(3).key()));
  EXPECT_FALSE(ages.RestoreRow(kB, KeyWriter().PutInt64(0).PutInt64(3).key())) << "A ended third";
}

class Context final : public ProcessorContext {
 public:
  void Forward(Topic, std::string, PayloadType, Bytes, int64_t, const JobId&) override {}
  void DeadLetter(DropReason) override {}
  void DropOutput(DropReason) override {}
  const StateStore& store() const override { return store_; }
  StateChanges& changes() override { return changes_; }
  void Commit() {
    ASSERT_TRUE(store_.Write(changes_).ok());
    changes_.clear();
  }
  void Put(const JobId& job, uint32_t rank) {
    changes_.Put(Table::kProgress,
                 BeginProgressKey(job, ProgressFamily::kRank).PutUint32(rank).key(), "row");
  }
  int Rows() const {
    int rows = 0;
    EXPECT_TRUE(store_
                    .Scan(Table::kProgress, "",
                          [&](std::string_view, std::string_view) { return ++rows > 0; })
                    .ok());
    return rows;
  }

 private:
  InMemoryStore store_;
  StateChanges changes_;
};

TEST(ForgetJob, TakesAllRowsOfTheJobAndNoOther) {
  Context context;
  context.Put(kA, 1);
  context.Put(JobId("aa"), 1);
  context.Commit();
  context.Put(kA, 2);  // of this cycle
  ASSERT_TRUE(ForgetJob(kA, context).ok());
  context.Commit();
  EXPECT_EQ(context.Rows(), 1);
}

}  // namespace
}  // namespace eroica

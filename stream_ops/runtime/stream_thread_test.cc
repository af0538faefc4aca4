#include "stream_ops/runtime/stream_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/testing/asked_log.h"
#include "stream_ops/runtime/testing/faulty_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using testing::AppendAll;
using testing::AskedLog;
using testing::DistinctValues;
using ::testing::ElementsAre;
using testing::FaultyLog;
using ::testing::IsEmpty;
using testing::Repeats;
using testing::SortedValues;
using testing::WindowSum;

class FailingStore : public InMemoryStore {
 public:
  absl::Status Write(const StateChanges& changes) override {
    if (failures > 0) {
      --failures;
      return absl::UnavailableError("disk busy");
    }
    ++writes;
    return InMemoryStore::Write(changes);
  }
  int failures = 0;
  int writes = 0;
};

class StreamThreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CreateTopics(1);
    options_.poll_timeout = milliseconds(0);
    options_.commit_interval = milliseconds(500);
    options_.idle_timeout = milliseconds(2000);
  }

  void CreateTopics(int32_t events_partitions) {
    ASSERT_TRUE(log_.admin().CreateTopic({"eroica.events", events_partitions, {}, 1}).ok());
    for (const char* topic : {"eroica.patterns", "eroica.deadletter"})
      ASSERT_TRUE(log_.admin().CreateTopic({topic, 1, {}, 1}).ok());
  }

  void Send(const std::vector<std::string>& values) {
    std::vector<ProducerRecord> records;
    for (const std::string& value : values)
      records.push_back({"eroica.events", "", value, {}, 0, 0});
    AppendAll(inner_log_, std::move(records));
  }

  std::unique_ptr<StreamThread> NewThread() {
    return std::make_unique<StreamThread>(log_, store_, stage_, options_);
  }

  // One step that must succeed, `after` the last one.
  void Step(StreamThread& thread, milliseconds after = milliseconds(100)) {
    now_ += after;
    const absl::StatusOr<milliseconds> wait = thread.RunOnce(now_);
    ASSERT_TRUE(wait.ok()) << wait.status();
  }
  // Steps of 100 ms.
  void StepFor(StreamThread& thread, milliseconds duration) {
    for (const TimePoint end = now_ + duration; now_ < end;) Step(thread);
  }

  MemoryLog inner_log_;
  FaultyLog log_{inner_log_};
  FailingStore store_;
  std::vector<PunctuationType> told_;
  Stage stage_{"sum", Topic::kEvents, [this] {
                 return std::make_unique<WindowSum>(Topic::kPatterns, Repeats::kAdd, &told_);
               }};
  StreamThreadOptions options_;
  TimePoint now_{std::chrono::hours(1)};
};

TEST_F(StreamThreadTest, CommitsAfterTheInterval) {
  Send({"a:1:5", "a:2:1"});
  auto thread = NewThread();
  Step(*thread);
  EXPECT_EQ(thread->probe().commits, 0u);
  StepFor(*thread, milliseconds(400));
  EXPECT_EQ(thread->probe().commits, 0u);
  Step(*thread);
  EXPECT_EQ(thread->probe().commits, 1u);
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5"));
  StepFor(*thread, milliseconds(1000));
  EXPECT_EQ(thread->probe().commits, 1u);  // nothing new
}

TEST_F(StreamThreadTest, CommitsAfterSoManyRecords) {
  options_.commit_records_max = 2;
  options_.poll_records_max = 1;
  Send({"a:1:5", "a:2:1"});
  auto thread = NewThread();
  Step(*thread);
  EXPECT_EQ(thread->probe().commits, 0u);
  Step(*thread);
  EXPECT_EQ(thread->probe().commits, 1u);
}

TEST_F(StreamThreadTest, TellsIdlenessOnceAndAgainAfterARecord) {
  Send({"a:1:5"});
  auto thread = NewThread();
  StepFor(*thread, milliseconds(1900));
  EXPECT_THAT(told_, IsEmpty());
  StepFor(*thread, milliseconds(200));
  EXPECT_THAT(told_, ElementsAre(PunctuationType::kIdle));
  StepFor(*thread, milliseconds(5000));
  EXPECT_EQ(told_.size(), 1u);
  Send({"a:2:5"});
  StepFor(*thread, milliseconds(2000));
  EXPECT_EQ(told_.size(), 1u);
  StepFor(*thread, milliseconds(200));
  EXPECT_EQ(told_.size(), 2u);
  EXPECT_EQ(thread->probe().idle_punctuations, 2u);
}

TEST_F(StreamThreadTest, WhatIdlenessClosedIsCommitted) {
  Send({"a:1:5"});
  auto thread = NewThread();
  StepFor(*thread, milliseconds(2800));
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5"));
  thread.reset();
  auto again = NewThread();
  StepFor(*again, milliseconds(2800));
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5"));
}

TEST_F(StreamThreadTest, AMemberWhosePlaceWasTakenJoinsAnew) {
  Send({"a:1:5", "a:2:1"});
  auto thread = NewThread();
  Step(*thread);
  log_.poll_error = absl::AbortedError("fenced");
  Step(*thread);
  log_.poll_error = absl::OkStatus();
  Send({"a:3:1"});
  StepFor(*thread, milliseconds(1'500));
  EXPECT_THAT(DistinctValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5", "a:2:1"));
  EXPECT_EQ(thread->probe().restarts, 1u);
}

TEST_F(StreamThreadTest, AMemberWhosePlaceIsTakenAgainAndAgainGivesUp) {
  auto thread = NewThread();
  Step(*thread);
  log_.poll_error = absl::AbortedError("fenced");
  absl::StatusOr<milliseconds> wait = milliseconds(0);
  for (int step = 0; step < 100 && wait.ok(); ++step) {
    now_ += milliseconds(500);
    wait = thread->RunOnce(now_);
  }
  EXPECT_EQ(wait.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(thread->probe().restarts, 5u);
}

// What the stage before has processed is what its group has committed.
TEST_F(StreamThreadTest, IsNotIdleWhileAStageBeforeItIsBehind) {
  ASSERT_TRUE(log_.admin().CreateTopic({"eroica.upstream", 1, {}, 1}).ok());
  AppendAll(inner_log_,
            {{"eroica.upstream", "", "1", {}, 0, 0}, {"eroica.upstream", "", "2", {}, 0, 0}});
  const auto upstream = *inner_log_.NewConsumer({.group_id = "up"});
  ASSERT_TRUE(upstream->Commit({{{"eroica.upstream", 0}, GroupOffset(0, 1)}}).ok());
  options_.upstreams = {{"up", "eroica.upstream"}};
  Send({"a:1:5"});
  auto thread = NewThread();
  StepFor(*thread, milliseconds(30'000));
  EXPECT_THAT(told_, IsEmpty());
  ASSERT_TRUE(upstream->Commit({{{"eroica.upstream", 0}, GroupOffset(0, 2)}}).ok());
  StepFor(*thread, milliseconds(1'500));
  EXPECT_EQ(told_.size(), 1u);
}

// In a busy job the stage before is always behind, by what comes between two commits: partitions
// without records must not slow the others down.
TEST_F(StreamThreadTest, WhileAStageBeforeItIsBehindSilenceIsCheap) {
  ASSERT_TRUE(log_.admin().CreateTopic({"eroica.upstream", 1, {}, 1}).ok());
  AppendAll(inner_log_, {{"eroica.upstream", "", "1", {}, 0, 0}});
  options_.upstreams = {{"up", "eroica.upstream"}};
  AskedLog asked(log_);
  Send({"a:1:5"});
  StreamThread thread(asked, store_, stage_, options_);
  StepFor(thread, milliseconds(12'000));
  EXPECT_EQ(asked.asked["eroica.events"], 0);
  EXPECT_LE(asked.asked["eroica.upstream"], 11) << "once a second, after two";
}

TEST_F(StreamThreadTest, AStageBeforeItThatDoesNotMoveIsNotWaitedForForEver) {
  ASSERT_TRUE(log_.admin().CreateTopic({"eroica.upstream", 1, {}, 1}).ok());
  AppendAll(inner_log_, {{"eroica.upstream", "", "1", {}, 0, 0}});
  options_.upstreams = {{"nobody", "eroica.upstream"}};
  Send({"a:1:5"});
  auto thread = NewThread();
  StepFor(*thread, std::chrono::minutes(9));
  EXPECT_EQ(std::ranges::count(told_, PunctuationType::kIdle), 0);
  StepFor(*thread, std::chrono::minutes(2));
  EXPECT_EQ(std::ranges::count(told_, PunctuationType::kIdle), 1);
}

TEST_F(StreamThreadTest, IsNotIdleBeforeTheEndOfThePartition) {
  options_.poll_records_max = 1;
  Send(std::vector<std::string>(60, "a:1:1"));
  auto thread = NewThread();
  StepFor(*thread, milliseconds(5900));
  EXPECT_THAT(told_, IsEmpty());
  StepFor(*thread, milliseconds(2300));
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(StreamThreadTest, SilenceOfOurOwnMakingIsNotIdleness) {
  Send({"a:1:5"});
  auto thread = NewThread();
  Step(*thread);
  Step(*thread, milliseconds(50'000));  // we were held up for long
  EXPECT_THAT(told_, IsEmpty());
  StepFor(*thread, milliseconds(1900));
  EXPECT_THAT(told_, IsEmpty());
  StepFor(*thread, milliseconds(200));
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(StreamThreadTest, AnotherThreadGoesOnWithItsIdleTimers) {
  Send({"a:1:5"});
  auto thread = NewThread();
  StepFor(*thread, milliseconds(1'600));
  const auto timers = thread->idle_timers(now_);
  ASSERT_EQ(timers.size(), 1u);
  EXPECT_EQ(timers.begin()->second.quiet, milliseconds(1'500));
  EXPECT_FALSE(timers.begin()->second.punctuated);
  ASSERT_TRUE(thread->Close(now_).ok());
  auto next = NewThread();
  Step(*next, milliseconds(0));
  next->RestoreIdleTimers(timers, now_);
  StepFor(*next, milliseconds(400));
  EXPECT_THAT(told_, IsEmpty());
  Step(*next);
  EXPECT_THAT(told_, ElementsAre(PunctuationType::kIdle));
  EXPECT_TRUE(next->idle_timers(now_).begin()->second.punctuated);
}

TEST_F(StreamThreadTest, MinutesAreAnnounced) {
  options_.idle_timeout = std::chrono::hours(1);
  Send({"a:1:5"});
  auto thread = NewThread();
  StepFor(*thread, milliseconds(59'000));
  EXPECT_THAT(told_, IsEmpty());
  StepFor(*thread, milliseconds(2'000));
  EXPECT_THAT(told_, ElementsAre(PunctuationType::kMinute));
  StepFor(*thread, milliseconds(60'000));
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(StreamThreadTest, ARetryRestartsTheIdleTimer) {
  Send({"a:1:5"});
  auto thread = NewThread();
  StepFor(*thread, milliseconds(1800));
  log_.polls_unavailable = 1;
  StepFor(*thread, milliseconds(1800));
  EXPECT_EQ(log_.polls_unavailable, 0);
  EXPECT_THAT(told_, IsEmpty());
  StepFor(*thread, milliseconds(500));
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(StreamThreadTest, NeverIdleWithoutATimeout) {
  options_.idle_timeout = std::nullopt;
  Send({"a:1:5"});
  auto thread = NewThread();
  StepFor(*thread, milliseconds(10'000));
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(StreamThreadTest, BacksOffInGrowingStepsWithoutPolling) {
  options_.retry_backoff = milliseconds(100);
  options_.retry_backoff_max = milliseconds(300);
  log_.polls_unavailable = 4;
  auto thread = NewThread();
  std::vector<int64_t> waits;
  for (int i = 0; i < 4; ++i) {
    const auto wait = thread->RunOnce(now_);
    ASSERT_TRUE(wait.ok());
    waits.push_back(wait->count());
    const int polls = log_.polls;
    EXPECT_GT(thread->RunOnce(now_ + *wait - milliseconds(1))->count(), 0);
    EXPECT_EQ(log_.polls, polls);
    now_ += *wait;
  }
  EXPECT_THAT(waits, ElementsAre(100, 200, 300, 300));
  Send({"a:1:5", "a:2:1"});
  StepFor(*thread, milliseconds(700));
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5"));
  EXPECT_EQ(thread->probe().retries, 4u);
}

TEST_F(StreamThreadTest, WaitsForABrokerThatIsNotThereYet) {
  log_.consumers_unavailable = 2;
  Send({"a:1:5", "a:2:1"});
  auto thread = NewThread();
  StepFor(*thread, milliseconds(1500));
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5"));
}

TEST_F(StreamThreadTest, GivesUpAfterTheRetriesThatItWasGiven) {
  options_.retries_max = 1;
  log_.polls_unavailable = 5;
  auto thread = NewThread();
  Step(*thread);
  now_ += milliseconds(1000);
  EXPECT_EQ(thread->RunOnce(now_).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(StreamThreadTest, OtherErrorsEndTheStage) {
  log_.poll_error = absl::PermissionDeniedError("no read access");
  auto thread = NewThread();
  EXPECT_EQ(thread->RunOnce(now_).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(thread->probe().errors, 1u);
}

TEST_F(StreamThreadTest, AFailingProcessorEndsTheStageAndSaysWhere) {
  Send({"a:1:5", "fail"});
  auto thread = NewThread();
  const absl::Status status = thread->RunOnce(now_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("task sum/eroica.events/0 at offset 1"));
}

TEST_F(StreamThreadTest, LostOutputsAreMadeAgainFromTheLastCommit) {
  auto thread = NewThread();
  Send({"a:1:5", "b:1:1"});
  StepFor(*thread, milliseconds(700));
  ASSERT_EQ(thread->probe().commits, 1u);
  Send({"a:2:6", "b:2:2", "a:3:7"});
  log_.flushes_lost = 1;
  StepFor(*thread, milliseconds(2000));
  EXPECT_EQ(thread->probe().restarts, 1u);
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5", "a:2:6", "b:1:1"));
}

TEST_F(StreamThreadTest, LostOutputsBeforeTheFirstCommitAreMadeAgainFromTheFirstRecord) {
  Send({"a:1:5", "a:2:6"});
  log_.flushes_lost = 2;
  auto thread = NewThread();
  StepFor(*thread, milliseconds(3000));
  EXPECT_EQ(thread->probe().restarts, 2u);
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5"));
}

TEST_F(StreamThreadTest, OutputsLostWhileSendingAreMadeAgain) {
  Send({"a:1:5", "a:2:6", "a:3:7", "a:4:8"});
  auto thread = NewThread();
  log_.appends_lost = 1;
  StepFor(*thread, milliseconds(2000));
  EXPECT_EQ(thread->probe().restarts, 1u);
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5", "a:2:6", "a:3:7"));
}

TEST_F(StreamThreadTest, WhatTheLogRefusesForGoodIsCountedAndNotMadeAgain) {
  Send({"a:1:5", "a:2:1", "a:3:1", "a:4:1"});
  log_.refused_at_flush = "a:2:1";
  auto thread = NewThread();
  StepFor(*thread, milliseconds(1000));
  EXPECT_EQ(thread->probe().outputs_dropped.at(DropReason::kTimeOutOfRange), 1u);
  EXPECT_EQ(thread->probe().restarts, 0u);
  EXPECT_EQ(thread->probe().retries, 0u);
  EXPECT_EQ(thread->probe().commits, 1u);
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5", "a:3:1"));
}

TEST_F(StreamThreadTest, ASlowFlushIsWaitedForAndRepeatsNothing) {
  Send({"a:1:5", "a:2:6"});
  log_.flushes_timed_out = 3;
  auto thread = NewThread();
  StepFor(*thread, milliseconds(2500));
  EXPECT_EQ(thread->probe().restarts, 0u);
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5"));
}

TEST_F(StreamThreadTest, APartitionThatWasMadeAnewIsReadFromItsBeginning) {
  Send({"a:1:5", "a:2:6", "a:3:7"});
  auto thread = NewThread();
  StepFor(*thread, milliseconds(1000));
  log_.at_next_poll.push_back([](RebalanceListener& listener, std::vector<ConsumerRecord>* out) {
    listener.OnPartitionMadeAnew({"eroica.events", 0}, 0);
    for (const char* value : {"a:2:9", "a:4:8", "a:5:1"}) {
      const auto offset = static_cast<int64_t>(out->size());
      out->push_back({"eroica.events", 0, offset, 0, "", value, {}});
    }
  });
  StepFor(*thread, milliseconds(1000));
  // What was open is gone with its records, what was closed stays closed.
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5", "a:2:6", "a:4:8"));
  EXPECT_EQ(thread->probe().records_ignored, 0u);
  thread.reset();
  const auto position =
      TaskStore(&store_, "sum/eroica.events/0").Get(Table::kPositions, kPositionKey);
  ASSERT_TRUE(position.ok() && position->has_value());
  EXPECT_EQ(DecodePosition(**position), (TaskPosition{2, 3}));
}

TEST_F(StreamThreadTest, AFullQueueHoldsTheInputBackAndLosesNothing) {
  std::vector<std::string> values;
  std::vector<std::string> expected;
  for (int window = 10; window < 40; ++window)
    values.push_back("a:" + std::to_string(window) + ":1");
  for (int window = 10; window < 39; ++window)
    expected.push_back("a:" + std::to_string(window) + ":1");
  Send(values);
  options_.idle_timeout = std::nullopt;
  log_.appends_refused = 7;
  auto thread = NewThread();
  StepFor(*thread, milliseconds(6000));
  EXPECT_EQ(log_.appends_refused, 0);
  EXPECT_EQ(SortedValues(inner_log_, "eroica.patterns"), expected);
  EXPECT_EQ(thread->probe().records_processed, 30u);
}

TEST_F(StreamThreadTest, AFailedWriteIsRepeatedBeforeAnythingElseHappens) {
  Send({"a:1:5", "a:2:6"});
  store_.failures = 2;
  auto thread = NewThread();
  StepFor(*thread, milliseconds(600));
  EXPECT_EQ(store_.writes, 0);
  Send({"a:3:1"});
  StepFor(*thread, milliseconds(1000));
  EXPECT_EQ(store_.failures, 0);
  EXPECT_GE(store_.writes, 1);
  thread.reset();
  auto again = NewThread();
  StepFor(*again, milliseconds(700));
  EXPECT_THAT(DistinctValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5", "a:2:6"));
}

TEST_F(StreamThreadTest, ARevokedPartitionIsCommittedALostOneIsNot) {
  for (const bool lost : {false, true}) {
    Send({"a:1:5", "a:2:6"});
    auto thread = NewThread();
    Step(*thread);
    const int writes = store_.writes;
    log_.at_next_poll.push_back([&](RebalanceListener& listener, auto*) {
      listener.OnPartitionRevoked({"eroica.events", 0}, lost);
    });
    Step(*thread);
    EXPECT_EQ(store_.writes - writes, lost ? 0 : 1);
    EXPECT_EQ(thread->probe().tasks, 0u);
    Send({"a:3:1"});  // somebody else's now
    StepFor(*thread, milliseconds(1000));
    EXPECT_EQ(store_.writes - writes, lost ? 0 : 1);
  }
}

TEST_F(StreamThreadTest, RecordsOfAFormerAssignmentAreIgnored) {
  Send({"b:1:1", "a:1:5", "a:1:6"});
  auto thread = NewThread();
  Step(*thread);
  // In one poll: a record arrives, the partition goes and comes back, and is read again from where
  // b's window opened.
  log_.at_next_poll.push_back([&](RebalanceListener& listener, std::vector<ConsumerRecord>* out) {
    out->push_back({"eroica.events", 0, 3, 0, "", "a:1:7", {}});
    listener.OnPartitionRevoked({"eroica.events", 0}, false);
    const std::optional<int64_t> from = listener.OnPartitionAssigned({"eroica.events", 0});
    ASSERT_EQ(from, 0);
    const char* values[] = {"b:1:1", "a:1:5", "a:1:6", "a:1:7", "a:2:0"};
    for (int64_t offset = *from; offset < 5; ++offset)
      out->push_back({"eroica.events", 0, offset, 0, "", values[offset], {}});
  });
  StepFor(*thread, milliseconds(800));
  EXPECT_EQ(thread->probe().records_ignored, 1u);
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:18"));
}

TEST_F(StreamThreadTest, ClosingCommitsAndDyingDoesNot) {
  Send({"a:1:5", "a:2:6"});
  {
    auto thread = NewThread();
    Step(*thread);
  }
  EXPECT_EQ(store_.writes, 0);
  auto thread = NewThread();
  Step(*thread);
  EXPECT_TRUE(thread->Close(now_).ok());
  EXPECT_EQ(store_.writes, 1);
}

}  // namespace
}  // namespace eroica

// What the log holds and cannot give: a stage passes over it, says which offsets, and reads on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/dead_letter.h"
#include "stream_ops/runtime/node_health.h"
#include "stream_ops/runtime/stream_thread.h"
#include "stream_ops/runtime/testing/faulty_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using testing::AppendAll;
using ::testing::ElementsAre;
using testing::FaultyLog;
using ::testing::HasSubstr;
using testing::ReadTopic;
using testing::SortedValues;
using testing::WindowSum;

const TopicPartition kEventsInput{"eroica.events", 0};

class DamagedLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* topic : {"eroica.events", "eroica.patterns", "eroica.deadletter"})
      ASSERT_TRUE(log_.admin().CreateTopic({topic, 1, {}, 1}).ok());
    options_.poll_timeout = milliseconds(0);
    options_.commit_interval = milliseconds(100);
    options_.idle_timeout = std::nullopt;
  }

  void Send(const std::vector<std::string>& values) {
    std::vector<ProducerRecord> records;
    for (const std::string& value : values)
      records.push_back({"eroica.events", "", value, {}, 77, 0});
    AppendAll(inner_log_, std::move(records));
  }

  // A thread from its beginning to the end of what is there, and its commit.
  StageProbe Run() {
    StreamThread thread(log_, store_, stage_, options_);
    for (int step = 0; step < 10; ++step) {
      now_ += milliseconds(100);
      const absl::StatusOr<milliseconds> wait = thread.RunOnce(now_);
      EXPECT_TRUE(wait.ok()) << wait.status();
    }
    return thread.probe();
  }

  std::vector<DeadLetter> Letters() {
    std::vector<DeadLetter> letters;
    for (ConsumerRecord& record : ReadTopic(inner_log_, "eroica.deadletter")) {
      if (auto letter = ReadDeadLetter(std::move(record))) letters.push_back(*std::move(letter));
    }
    return letters;
  }

  MemoryLog inner_log_;
  FaultyLog log_{inner_log_};
  InMemoryStore store_;
  Stage stage_{"sum", Topic::kEvents, [] { return std::make_unique<WindowSum>(Topic::kPatterns); }};
  StreamThreadOptions options_;
  TimePoint now_{std::chrono::hours(1)};
};

TEST_F(DamagedLogTest, AStageGoesOnBehindWhatTheLogCannotGive) {
  Send({"a:1:5", "a:1:6", "a:1:7", "a:2:1", "a:3:1"});
  log_.damaged = {{kEventsInput, 1, 3, "bad checksum"}};
  const StageProbe probe = Run();
  EXPECT_THAT(SortedValues(inner_log_, "eroica.patterns"), ElementsAre("a:1:5", "a:2:1"));
  EXPECT_EQ(probe.records_unreadable, 2U);
  EXPECT_EQ(probe.dead_letters.at(DropReason::kUnreadable), 1U);
  EXPECT_EQ(probe.records_received, probe.records_processed + probe.records_ignored);

  const std::vector<DeadLetter> letters = Letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].reason, "unreadable");
  EXPECT_EQ(letters[0].stage, "sum");
  EXPECT_EQ(SourcePosition(letters[0]), "eroica.events/0/1");
  EXPECT_EQ(letters[0].end, 3);
  EXPECT_EQ(letters[0].detail, "bad checksum");
  EXPECT_TRUE(letters[0].cut) << "there is nothing to send back";
  EXPECT_EQ(letters[0].record.timestamp_ms, 77) << "when the record before it was made";
}

TEST_F(DamagedLogTest, WhatIsCommittedIsDeadLetteredOnce) {
  Send({"a:1:5", "a:1:6", "a:1:7"});
  log_.damaged = {{kEventsInput, 1, 3, "bad checksum"}};
  Run();
  ASSERT_EQ(Letters().size(), 1U);
  // The window is open: its records are read again, and so is what was damaged.
  const StageProbe probe = Run();
  EXPECT_EQ(Letters().size(), 1U);
  EXPECT_EQ(probe.dead_letters_replayed, 1U);
  EXPECT_EQ(probe.records_unreadable, 0U);
}

TEST_F(DamagedLogTest, DamageAtTheEndIsBehindTheCommit) {
  Send({"a:1:5", "a:1:6"});
  log_.damaged = {{kEventsInput, 1, 2, "bad checksum"}};
  Run();
  StageProbe probe;
  StreamTask task(TaskId{"sum", kEventsInput}, {}, std::make_unique<WindowSum>(Topic::kPatterns),
                  store_, &probe);
  ASSERT_TRUE(task.Init().ok());
  ASSERT_TRUE(task.position().has_value());
  EXPECT_EQ(task.position()->processed, 2);
}

TEST(NodeHealthOfADamagedLog, CountsRecordsNotRanges) {
  const TimePoint start{std::chrono::hours(1)};
  NodeHealth health({}, start);
  StageProbe probe;
  probe.records_received = 10;
  probe.records_unreadable = 30;
  probe.dead_letters[DropReason::kUnreadable] = 1;
  EXPECT_TRUE(health.Observe({{"summarize", probe}}, start + std::chrono::seconds(1)));
  EXPECT_THAT(health.reasons(), ElementsAre(HasSubstr("30 of the 40 records")));
}

}  // namespace
}  // namespace eroica

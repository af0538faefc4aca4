#include "stream_ops/runtime/stream_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/testing/faulty_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using testing::FaultyLog;
using ::testing::Pair;
using testing::ReadTopic;
using testing::WindowSum;

constexpr std::chrono::seconds kTimeout{1};

class CountingStore : public InMemoryStore {
 public:
  absl::Status Write(const StateChanges& changes) override {
    written.push_back(changes.changes().size());
    return InMemoryStore::Write(changes);
  }
  std::vector<size_t> written;  // changes of each write
};

class StreamTaskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* topic : {"eroica.patterns", "eroica.deadletter"})
      ASSERT_TRUE(log_.admin().CreateTopic({topic, 1, {}, 1}).ok());
    producer_ = *log_.NewProducer();
  }

  std::unique_ptr<StreamTask> NewTask() {
    auto task = std::make_unique<StreamTask>(
        TaskId{"sum", {"eroica.events", 3}}, StreamTaskOptions{},
        std::make_unique<WindowSum>(Topic::kPatterns), store_, &probe_);
    const absl::Status status = task->Init();
    EXPECT_TRUE(status.ok()) << status;
    return task;
  }

  static ConsumerRecord Record(int64_t offset, std::string value) {
    return {"eroica.events", 3, offset, 17, "the key", std::move(value), {{"schema", "EVB1"}}};
  }

  void ProcessAndCommit(StreamTask& task, const std::vector<ConsumerRecord>& records) {
    for (const ConsumerRecord& record : records) ASSERT_TRUE(task.Process(record).ok());
    ASSERT_TRUE(task.SendOutputs(*producer_).ok());
    ASSERT_TRUE(producer_->Flush(kTimeout).ok());
    ASSERT_TRUE(task.Commit().ok());
  }

  MemoryLog inner_log_;
  FaultyLog log_{inner_log_};
  CountingStore store_;
  StageProbe probe_;
  std::unique_ptr<LogProducer> producer_;
};

TEST_F(StreamTaskTest, ForwardsWithSchemaJobAndStage) {
  auto task = NewTask();
  ProcessAndCommit(*task, {Record(0, "a:1:5"), Record(1, "a:1:6"), Record(2, "a:2:1")});
  const std::vector<ConsumerRecord> out = ReadTopic(log_, "eroica.patterns");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].value, "a:1:11");
  EXPECT_EQ(out[0].key, "a");
  EXPECT_EQ(out[0].timestamp_ms, 1);
  EXPECT_THAT(out[0].headers,
              ElementsAre(Pair("schema", "PTB1"), Pair("job", "job"), Pair("stage", "sum")));
  EXPECT_EQ(probe_.records_processed, 3u);
  EXPECT_EQ(probe_.records_emitted, 1u);
}

TEST_F(StreamTaskTest, MarksReplayedRecords) {
  StreamTask task({"sum", {"eroica.events", 3}}, {"eroica", "replay 7"},
                  std::make_unique<WindowSum>(Topic::kPatterns), store_, &probe_);
  ASSERT_TRUE(task.Init().ok());
  ProcessAndCommit(task, {Record(0, "a:1:5"), Record(1, "a:2:1")});
  EXPECT_EQ(FindHeader(ReadTopic(log_, "eroica.patterns").at(0).headers, kHeaderReplay),
            "replay 7");
}

TEST_F(StreamTaskTest, DeadLetterKeepsTheBytesAndSaysWhereTheyCameFrom) {
  auto task = NewTask();
  const std::string bytes("no\0 record", 10);
  ProcessAndCommit(*task, {Record(41, bytes)});
  const std::vector<ConsumerRecord> out = ReadTopic(log_, "eroica.deadletter");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].value, bytes);
  EXPECT_EQ(out[0].key, "the key");
  EXPECT_THAT(
      out[0].headers,
      ElementsAre(Pair("schema", "EVB1"), Pair("dead-letter-reason", "malformed_event"),
                  Pair("dead-letter-stage", "sum"), Pair("dead-letter-topic", "eroica.events"),
                  Pair("dead-letter-partition", "3"), Pair("dead-letter-offset", "41")));
  EXPECT_EQ(probe_.dead_letters.at(DropReason::kMalformedEvent), 1u);
}

TEST_F(StreamTaskTest, ADeadLetterThatIsTooLargeIsCutToWhatTheLogTakes) {
  log_.record_bytes_max = 1'000;
  auto task = NewTask();
  std::string bytes(5'000, 'x');
  bytes[700] = 'y';
  ProcessAndCommit(*task, {Record(41, bytes)});
  const std::vector<ConsumerRecord> out = ReadTopic(log_, "eroica.deadletter");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(RecordBytes({.key = out[0].key, .value = out[0].value, .headers = out[0].headers}),
            1'000u);
  EXPECT_FALSE(out[0].value.empty());
  EXPECT_EQ(out[0].value, bytes.substr(0, out[0].value.size()));
  EXPECT_EQ(out[0].key, "the key");
  EXPECT_EQ(FindHeader(out[0].headers, "schema"), "EVB1");
  EXPECT_EQ(FindHeader(out[0].headers, kHeaderDeadLetterReason), "malformed_event");
  EXPECT_EQ(FindHeader(out[0].headers, kHeaderDeadLetterOffset), "41");
  EXPECT_EQ(FindHeader(out[0].headers, kHeaderDeadLetterCut), "5000");
  EXPECT_EQ(probe_.dead_letters_cut, 1u);
  EXPECT_EQ(probe_.records_emitted, 1u);
}

TEST_F(StreamTaskTest, ADeadLetterKeepsItsOwnHeadersBeforeThoseOfTheRecord) {
  log_.record_bytes_max = 1'000;
  auto task = NewTask();
  ConsumerRecord record = Record(41, "not ours");
  record.key = std::string(2'000, 'k');
  record.headers.emplace_back("long", std::string(2'000, 'h'));
  ProcessAndCommit(*task, {record});
  const std::vector<ConsumerRecord> out = ReadTopic(log_, "eroica.deadletter");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].value, "not ours");
  EXPECT_EQ(out[0].key, "");
  EXPECT_EQ(out[0].headers.front(),
            std::pair(std::string(kHeaderDeadLetterReason), std::string("malformed_event")));
  EXPECT_EQ(FindHeader(out[0].headers, kHeaderDeadLetterCut), "8");
}

TEST_F(StreamTaskTest, AnOutputThatTheLogNeverTakesIsDroppedAndCounted) {
  const std::string large(2'000, 'k');
  int64_t offset = 0;
  for (const bool known : {true, false}) {
    log_.record_bytes_max = 1'000;
    log_.limit_known = known;
    auto task = NewTask();
    const std::string window = known ? ":1:5" : ":2:5";
    ProcessAndCommit(*task, {Record(offset, large + window), Record(offset + 1, "a" + window)});
    offset += 2;
    ASSERT_TRUE(task->Punctuate(PunctuationType::kEndOfInput).ok());
    ProcessAndCommit(*task, {});
    EXPECT_FALSE(task->has_outputs());
    log_.record_bytes_max = std::numeric_limits<size_t>::max();
  }
  EXPECT_EQ(probe_.outputs_dropped.at(DropReason::kLimitExceeded), 2u);
  EXPECT_THAT(testing::SortedValues(log_, "eroica.patterns"), ElementsAre("a:1:5", "a:2:5"));
}

TEST_F(StreamTaskTest, CommitsChangesAndPositionInOneWrite) {
  auto task = NewTask();
  ProcessAndCommit(*task, {Record(0, "a:1:5"), Record(1, "b:1:5"), Record(2, "a:2:1")});
  EXPECT_THAT(store_.written, ElementsAre(2u));  // progress of a, position
  // b's window has been open since record 1.
  EXPECT_EQ(task->restart_offset(), 1);
  EXPECT_EQ(NewTask()->restart_offset(), 1);
}

TEST_F(StreamTaskTest, WritesNothingWhenNothingHappened) {
  auto task = NewTask();
  EXPECT_FALSE(task->dirty());
  ProcessAndCommit(*task, {});
  EXPECT_TRUE(store_.written.empty());
  ProcessAndCommit(*task, {Record(0, "a:1:5")});
  EXPECT_FALSE(task->dirty());
  ProcessAndCommit(*task, {});
  EXPECT_EQ(store_.written.size(), 1u);
}

TEST_F(StreamTaskTest, GoesOnWhereItWasCommitted) {
  {
    auto task = NewTask();
    ProcessAndCommit(*task, {Record(0, "a:1:5"), Record(1, "b:1:5"), Record(2, "a:2:1")});
    ASSERT_TRUE(task->Process(Record(3, "b:2:7")).ok());  // not committed: gone with the task
  }
  auto task = NewTask();
  ASSERT_EQ(task->restart_offset(), 1);
  ProcessAndCommit(*task, {Record(1, "b:1:5"), Record(2, "a:2:1"), Record(3, "b:2:7")});
  ASSERT_TRUE(task->Punctuate(PunctuationType::kEndOfInput).ok());
  ProcessAndCommit(*task, {});
  EXPECT_THAT(testing::SortedValues(log_, "eroica.patterns"),
              ElementsAre("a:1:5", "a:2:1", "b:1:5", "b:2:7"));
  EXPECT_EQ(NewTask()->restart_offset(), 4);
}

TEST_F(StreamTaskTest, DoesNotRepeatDeadLettersThatAnOpenWindowBringsBack) {
  ProcessAndCommit(*NewTask(), {Record(0, "a:1:5"), Record(1, "bad")});
  auto task = NewTask();
  ASSERT_EQ(task->restart_offset(), 0);
  ProcessAndCommit(*task, {Record(0, "a:1:5"), Record(1, "bad")});
  EXPECT_EQ(probe_.dead_letters_replayed, 1u);
  ProcessAndCommit(*task, {Record(2, "also bad")});
  EXPECT_EQ(ReadTopic(log_, "eroica.deadletter").size(), 2u);
}

TEST_F(StreamTaskTest, RemembersWhatWasProcessedOverASecondRestart) {
  ProcessAndCommit(*NewTask(), {Record(0, "a:1:5"), Record(1, "bad"), Record(2, "bad")});
  ProcessAndCommit(*NewTask(), {Record(0, "a:1:5")});  // dies again before it reaches the bad ones
  ProcessAndCommit(*NewTask(),
                   {Record(0, "a:1:5"), Record(1, "bad"), Record(2, "bad"), Record(3, "bad")});
  EXPECT_EQ(ReadTopic(log_, "eroica.deadletter").size(), 3u);
}

TEST_F(StreamTaskTest, IgnoresRecordsBehindItsPosition) {
  auto task = NewTask();
  ProcessAndCommit(*task, {Record(5, "a:1:5"), Record(5, "a:1:5"), Record(4, "a:1:1"),
                           Record(6, "a:1:2"), Record(7, "a:2:0")});
  EXPECT_EQ(testing::SortedValues(log_, "eroica.patterns"), std::vector<std::string>{"a:1:7"});
  EXPECT_EQ(probe_.records_ignored, 2u);
}

TEST_F(StreamTaskTest, KeepsWhatTheLogRefuses) {
  auto task = NewTask();
  for (const auto& record : {Record(0, "a:1:5"), Record(1, "a:2:6"), Record(2, "a:3:7")})
    ASSERT_TRUE(task->Process(record).ok());
  log_.appends_refused = 2;
  EXPECT_EQ(task->SendOutputs(*producer_).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(task->SendOutputs(*producer_).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(task->has_outputs());
  ProcessAndCommit(*task, {});
  EXPECT_FALSE(task->has_outputs());
  const std::vector<ConsumerRecord> out = ReadTopic(log_, "eroica.patterns");
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].value, "a:1:5");
  EXPECT_EQ(out[1].value, "a:2:6");
}

TEST_F(StreamTaskTest, TasksDoNotSeeEachOthersProgress) {
  ProcessAndCommit(*NewTask(), {Record(0, "a:1:5"), Record(1, "a:9:1")});
  StreamTask other({"sum", {"eroica.events", 33}}, {},
                   std::make_unique<WindowSum>(Topic::kPatterns), store_, &probe_);
  ASSERT_TRUE(other.Init().ok());
  EXPECT_EQ(other.restart_offset(), std::nullopt);
  ConsumerRecord record = Record(0, "a:1:2");
  record.partition = 33;
  ASSERT_TRUE(other.Process(record).ok());
  ASSERT_TRUE(other.Punctuate(PunctuationType::kEndOfInput).ok());
  EXPECT_TRUE(other.has_outputs());
}

TEST_F(StreamTaskTest, RefusesAPositionThatIsNotOneOfOurs) {
  ProcessAndCommit(*NewTask(), {Record(0, "a:1:5")});
  std::vector<std::string> keys;
  ASSERT_TRUE(store_
                  .Scan(Table::kPositions, "",
                        [&](std::string_view key, std::string_view) {
                          keys.emplace_back(key);
                          return true;
                        })
                  .ok());
  ASSERT_EQ(keys.size(), 1u);
  StateChanges changes;
  changes.Put(Table::kPositions, keys[0], "twelve");
  ASSERT_TRUE(store_.Write(changes).ok());
  StreamTask task({"sum", {"eroica.events", 3}}, {}, std::make_unique<WindowSum>(Topic::kPatterns),
                  store_, &probe_);
  EXPECT_EQ(task.Init().code(), absl::StatusCode::kDataLoss);
}

TEST(TaskPosition, SurvivesItsEncoding) {
  for (const TaskPosition position :
       {TaskPosition{0, 0}, TaskPosition{7, 4'000'000'000'000}, TaskPosition{255, 256}}) {
    EXPECT_EQ(DecodePosition(EncodePosition(position)), position);
  }
}

TEST(TaskPosition, RefusesHostileBytes) {
  const std::string good = EncodePosition({7, 9});
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(DecodePosition(good.substr(0, size)), std::nullopt);
  EXPECT_EQ(DecodePosition(good + '\0'), std::nullopt);
  std::string version = good;
  version[0] = 2;
  EXPECT_EQ(DecodePosition(version), std::nullopt);
  std::string negative = good;
  negative[1] = '\x80';
  EXPECT_EQ(DecodePosition(negative), std::nullopt);
  std::string backwards = good;
  backwards[16] = 6;  // processed before restart
  EXPECT_EQ(DecodePosition(backwards), std::nullopt);
}

}  // namespace
}  // namespace eroica

#include "producers/core/edge_batch_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "producers/core/log_batch_sink.h"
#include "schemas/test_encoder.h"
#include "schemas/testing/not_empty.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/topic_layout.h"
#include "stream_ops/summarize/summarize_processor.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using testing::ReadTopic;
using ::testing::SizeIs;

// One step of a rank that reduces with another.
EventBatch Batch() {
  EventBatch batch;
  batch.identity = {.job = JobId{"job"},
                    .rank = RankId{1},
                    .world_size = 2,
                    .producer = "test",
                    .window_steps = 1};
  batch.functions = {{.name = "all_reduce", .function_class = FunctionClass::kCollective}};
  batch.lanes = {{.name = "main", .kind = LaneKind::kTrainingThread}};
  batch.communicators = {{CommId{7}, "0", "", 2, {0, 1}}};
  batch.intervals.push_back(5'000'000'000, 1'000'000, 0, 0);
  batch.collectives = {{0, 0, CollectiveOperation::kAllReduce, -1, 0, 64}};
  batch.marks = {{5'000'000'000, MarkKind::kStepBegin, 3}, {6'000'000'000, MarkKind::kStepEnd, 3}};
  batch.final = true;
  return batch;
}

class EdgeBatchSinkTest : public ::testing::Test {
 protected:
  void Send(LogBatchSinkOptions options) {
    ASSERT_TRUE(CreateMissingTopics(log_.admin(), options.topic_prefix, TopicLayout()).ok());
    const auto producer = log_.NewProducer();
    ASSERT_TRUE(producer.ok());
    EdgeBatchSink sink(producer->get(), std::move(options));
    ASSERT_TRUE(sink.Write(Batch()).ok());
    ASSERT_TRUE(sink.Finish().ok());
    EXPECT_EQ(sink.records(), 2);
    EXPECT_EQ(sink.probe().events_used, 1);
  }

  MemoryLog log_;
};

TEST_F(EdgeBatchSinkTest, PatternsAndCollectivesGoToTheirTopicsAndNoEvents) {
  Send({.topic_prefix = "site", .replay_id = "r1", .timestamp_ms = std::nullopt});
  const std::vector<ConsumerRecord> patterns = ReadTopic(log_, "site.patterns");
  ASSERT_THAT(patterns, SizeIs(1));
  EXPECT_EQ(patterns[0].key, JobKey(JobId{"job"}));
  EXPECT_EQ(patterns[0].timestamp_ms, 6'000);
  EXPECT_THAT(patterns[0].headers, Contains(Pair("schema", "PTB1")));
  EXPECT_THAT(patterns[0].headers, Contains(Pair("job", "job")));
  EXPECT_THAT(patterns[0].headers, Contains(Pair("replay-id", "r1")));
  const std::vector<ConsumerRecord> collectives = ReadTopic(log_, "site.collectives");
  ASSERT_THAT(collectives, SizeIs(1));
  EXPECT_EQ(collectives[0].key, CollectivesKey(JobId{"job"}, CommId{7}));
  EXPECT_THAT(ReadTopic(log_, "site.events"), IsEmpty());
}

TEST_F(EdgeBatchSinkTest, StampsWithTheTimeThatItIsGiven) {
  Send({.timestamp_ms = 77});
  const std::vector<ConsumerRecord> patterns = ReadTopic(log_, "eroica.patterns");
  ASSERT_THAT(patterns, Not(IsEmpty()));
  EXPECT_EQ(patterns[0].timestamp_ms, 77);
}

// Runs the stage summarize over the events topic.
class Stage final : public ProcessorContext {
 public:
  explicit Stage(MemoryLog& log) {
    SummarizeProcessor processor(EdgeSummarizer::InOrder());
    EXPECT_TRUE(processor.Init(*this).ok());
    for (const ConsumerRecord& record : NotEmpty(ReadTopic(log, "eroica.events")))
      EXPECT_TRUE(processor.Process(record).ok());
  }
  struct Output {
    Topic topic;
    std::string key;
    std::string payload;
    int64_t timestamp_ms;
    friend bool operator==(const Output&, const Output&) = default;
  };
  std::vector<Output> outputs;
  std::vector<DropReason> dead_letters;
  std::vector<DropReason> outputs_dropped;

 private:
  void Forward(Topic topic, std::string key, PayloadType, Bytes payload, int64_t timestamp_ms,
               const JobId&) override {
    outputs.push_back({topic, std::move(key),
                       std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
                       timestamp_ms});
  }
  void DeadLetter(DropReason reason) override { dead_letters.push_back(reason); }
  void DropOutput(DropReason reason) override { outputs_dropped.push_back(reason); }
  const StateStore& store() const override { return nothing_; }
  StateChanges& changes() override { return changes_; }

  InMemoryStore nothing_;
  StateChanges changes_;
};

// What a rank summarizes itself and sends through its own partition of the events topic is, byte
// for byte, what the stage makes of the rank's events.
TEST_F(EdgeBatchSinkTest, ThroughTheEventsTopicComesWhatTheStageWouldMake) {
  Send({.timestamp_ms = std::nullopt, .partition = 0});
  EXPECT_THAT(ReadTopic(log_, "eroica.patterns"), IsEmpty());
  const Stage of_summaries(log_);

  MemoryLog raw;
  ASSERT_TRUE(CreateMissingTopics(raw.admin(), kDefaultTopicPrefix, TopicLayout()).ok());
  const auto producer = raw.NewProducer();
  ASSERT_TRUE(producer.ok());
  LogBatchSink sink(producer->get(), {});
  ASSERT_TRUE(sink.Write(Batch()).ok());
  const Stage of_events(raw);

  EXPECT_THAT(of_summaries.outputs, SizeIs(2));
  EXPECT_EQ(of_summaries.outputs, of_events.outputs);
  EXPECT_THAT(of_summaries.dead_letters, IsEmpty());
}

TEST_F(EdgeBatchSinkTest, WhatIsNoSummaryIsRefusedThere) {
  Send({.timestamp_ms = std::nullopt, .partition = 0});
  const auto producer = log_.NewProducer();
  ASSERT_TRUE(producer.ok());
  std::vector<ConsumerRecord> records = ReadTopic(log_, "eroica.events");
  ConsumerRecord& cut = records.front();
  cut.value.resize(cut.value.size() / 2);
  TestEncoder encoder;
  const Bytes control = encoder.Encode(Control{.job = JobId{"job"}});
  for (const std::string& value :
       {cut.value, std::string(reinterpret_cast<const char*>(control.data()), control.size())}) {
    ASSERT_TRUE((*producer)
                    ->Append({.topic = "eroica.events", .key = "k", .value = value, .partition = 0})
                    .ok());
  }
  const Stage stage(log_);
  EXPECT_THAT(stage.outputs, SizeIs(2));
  EXPECT_THAT(stage.dead_letters,
              ElementsAre(DropReason::kVerifierFailed, DropReason::kWrongIdentifier));
}

}  // namespace
}  // namespace eroica

// Records near and beyond what a real broker takes: the stage and its producer go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "state_store/in_memory_store.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/runtime/stream_thread.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"
#include "stream_ops/runtime/topic_layout.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using testing::AppendAll;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::ReadTopic;
using testing::SortedValues;
using testing::WindowSum;

constexpr std::chrono::seconds kPatience{60};

// Bytes that compression makes no smaller.
std::string Noise(size_t size) {
  std::mt19937_64 random(1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class LargeRecordsKafka : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::string> broker = SharedBroker();
    if (!broker) GTEST_SKIP() << kNoBrokerMessage;
    log_ = Open(*broker, {});
    prefix_ = UniqueName("large");
    const absl::Status status = CreateMissingTopics(log_->admin(), prefix_, {});
    ASSERT_TRUE(status.ok()) << status;
  }

  static std::unique_ptr<KafkaLog> Open(const std::string& broker,
                                        std::map<std::string, std::string> properties) {
    auto log = KafkaLog::Open({.bootstrap_servers = broker, .properties = std::move(properties)});
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }

  std::string NameOf(Topic topic) const { return TopicName(prefix_, topic); }

  std::unique_ptr<KafkaLog> log_;
  std::string prefix_;
};

TEST_F(LargeRecordsKafka, ARecordAtTheLimitIsTaken) {
  auto producer = *log_->NewProducer();
  ProducerRecord record{.topic = NameOf(Topic::kEvents), .key = "key", .value = {}};
  record.headers = {{"a header", "and its value"}};
  record.value = Noise(producer->record_bytes_max() - RecordBytes(record));
  ASSERT_EQ(RecordBytes(record), producer->record_bytes_max());
  ASSERT_TRUE(producer->Append(record).ok());
  const absl::Status flushed = producer->Flush(kPatience);
  EXPECT_TRUE(flushed.ok()) << flushed;
  EXPECT_THAT(producer->TakeRefused(), IsEmpty());
  EXPECT_EQ(ReadTopic(*log_, record.topic).at(0).value, record.value);
}

TEST_F(LargeRecordsKafka, WhatATopicRefusesIsToldApartAndTheProducerGoesOn) {
  const std::string topic = UniqueName("small");
  const absl::Status created = log_->admin().CreateTopic(
      {.name = topic, .partitions = 1, .config = {{"max.message.bytes", "2000"}}});
  ASSERT_TRUE(created.ok()) << created;
  auto producer = *log_->NewProducer();
  ASSERT_TRUE(producer->Append({.topic = topic, .key = "", .value = Noise(5'000)}).ok());
  EXPECT_EQ(producer->Flush(kPatience).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(producer->TakeRefused(), ElementsAre(Pair(DropReason::kLimitExceeded, 1)));
  EXPECT_THAT(producer->TakeRefused(), IsEmpty());
  ASSERT_TRUE(producer->Append({.topic = topic, .key = "", .value = "small"}).ok());
  const absl::Status flushed = producer->Flush(kPatience);
  EXPECT_TRUE(flushed.ok()) << flushed;
  EXPECT_THAT(SortedValues(*log_, topic), ElementsAre("small"));
}

// 3 MB that nobody can decode, on a topic that takes 10; the stage's producer takes 1.
TEST_F(LargeRecordsKafka, ADeadLetterIsCutAndTheStageGoesOn) {
  const std::string bytes = Noise(3'000'000);
  AppendAll(*Open(*SharedBroker(), {{"message.max.bytes", "8000000"}}),
            {{.topic = NameOf(Topic::kEvents), .key = "", .value = bytes, .partition = 0}});
  AppendAll(*log_,
            {{.topic = NameOf(Topic::kEvents), .key = "", .value = "a:1:5", .partition = 0},
             {.topic = NameOf(Topic::kEvents), .key = "", .value = "a:2:5", .partition = 0}});
  InMemoryStore store;
  const Stage stage{"sum", Topic::kEvents,
                    [] { return std::make_unique<WindowSum>(Topic::kPatterns); }};
  StreamThreadOptions options;
  options.task.topic_prefix = prefix_;
  StreamThread thread(*log_, store, stage, options);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (thread.probe().records_processed < 3 && std::chrono::steady_clock::now() < deadline)
    ASSERT_TRUE(thread.RunOnce(std::chrono::steady_clock::now()).ok());
  const absl::Status closed = thread.Close(std::chrono::steady_clock::now());
  ASSERT_TRUE(closed.ok()) << closed;
  EXPECT_EQ(thread.probe().dead_letters_cut, 1u);
  EXPECT_THAT(SortedValues(*log_, NameOf(Topic::kPatterns)), ElementsAre("a:1:5"));
  const std::vector<ConsumerRecord> dead = ReadTopic(*log_, NameOf(Topic::kDeadLetter));
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(FindHeader(dead[0].headers, kHeaderDeadLetterCut), "3000000");
  EXPECT_EQ(FindHeader(dead[0].headers, kHeaderDeadLetterOffset), "0");
  EXPECT_GT(dead[0].value.size(), 900'000u);
  EXPECT_EQ(dead[0].value, bytes.substr(0, dead[0].value.size()));
}

}  // namespace
}  // namespace eroica

// What a transaction is to a reader: the marker that closes one takes an offset and is never
// delivered, so whoever waits for "last record + 1" waits for ever; and while one is open nobody
// can tell where its group stands. Here rather than in tests/integration because it speaks
// librdkafka itself, which can stop in the middle of one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stream_ops/kafka/kafka_handles.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/kafka/kafka_partition_list.h"

namespace eroica {
namespace {

// For the topic and the transactional id: no earlier run has used it.
std::string UniqueName() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return "transactions-" + std::to_string(::getpid()) + "-" +
         std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

void Produce(rd_kafka_t* producer, const std::string& topic, const std::string& value) {
  ASSERT_EQ(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(0),
                              RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                              RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()),
                              RD_KAFKA_V_END),
            RD_KAFKA_RESP_ERR_NO_ERROR);
}

KafkaHandle NewTransactionalProducer(const std::string& address) {
  KafkaConf conf(rd_kafka_conf_new());
  char reason[512];
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"bootstrap.servers", address}, {"transactional.id", UniqueName()}}) {
    EXPECT_EQ(rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), reason, sizeof(reason)),
              RD_KAFKA_CONF_OK)
        << reason;
  }
  KafkaHandle producer(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), reason, sizeof(reason)));
  EXPECT_NE(producer, nullptr) << reason;
  static_cast<void>(conf.release());
  const KafkaError error(rd_kafka_init_transactions(producer.get(), 60'000));
  EXPECT_EQ(error, nullptr) << rd_kafka_error_string(error.get());
  return producer;
}

TEST(KafkaTransactions, OnlyCommittedRecordsAreReadAndTheEndIsReached) {
  const char* address = std::getenv("EROICA_TEST_BROKER");
  if (address == nullptr)
    GTEST_SKIP() << "EROICA_TEST_BROKER is not set: run ops/test.sh, or export "
                    "EROICA_TEST_BROKER=$(ops/kafka.sh start)";
  auto log = KafkaLog::Open({.bootstrap_servers = address, .properties = {}});
  ASSERT_TRUE(log.ok()) << log.status();
  const std::string topic = UniqueName();
  ASSERT_TRUE((*log)->admin().CreateTopic({.name = topic, .partitions = 1, .config = {}}).ok());

  const KafkaHandle producer = NewTransactionalProducer(address);
  ASSERT_EQ(rd_kafka_begin_transaction(producer.get()), nullptr);
  Produce(producer.get(), topic, "committed");
  ASSERT_EQ(rd_kafka_commit_transaction(producer.get(), 60'000), nullptr);
  ASSERT_EQ(rd_kafka_begin_transaction(producer.get()), nullptr);
  Produce(producer.get(), topic, "aborted");
  ASSERT_EQ(rd_kafka_flush(producer.get(), 60'000), RD_KAFKA_RESP_ERR_NO_ERROR);

  auto consumer = *(*log)->NewConsumer({});
  ASSERT_TRUE(consumer->Subscribe({topic}, nullptr).ok());
  std::vector<ConsumerRecord> records;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto read_to = [&](int64_t offset) {
    while (std::chrono::steady_clock::now() < deadline) {
      ASSERT_TRUE(consumer->Poll(std::chrono::milliseconds(50), 10, &records).ok());
      const auto position = consumer->Position({topic, 0});
      if (position.ok() && *position >= offset) return;
    }
    FAIL() << "the end was not reached";
  };
  // offset 0: the record, 1: its commit marker, 2: the open transaction's, which is not to be seen.
  read_to(2);
  EXPECT_EQ(*consumer->EndOffset({topic, 0}), 2);
  EXPECT_EQ((*log)->admin().EndOffsets(topic)->at({topic, 0}), 2);
  ASSERT_EQ(rd_kafka_abort_transaction(producer.get(), 60'000), nullptr);
  read_to(4);
  EXPECT_EQ(*consumer->EndOffset({topic, 0}), 4);
  EXPECT_EQ((*log)->admin().EndOffsets(topic)->at({topic, 0}), 4);
  EXPECT_EQ(*consumer->Position({topic, 0}), 4);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].value, "committed");
}

// What it holds back is lag, though nobody may read it.
TEST(KafkaTransactions, WhatAnOpenOneHoldsBackIsMeasured) {
  const char* address = std::getenv("EROICA_TEST_BROKER");
  if (address == nullptr) GTEST_SKIP() << "EROICA_TEST_BROKER is not set: run ops/test.sh";
  auto log = KafkaLog::Open(
      {.bootstrap_servers = address, .properties = {{"statistics.interval.ms", "100"}}});
  ASSERT_TRUE(log.ok()) << log.status();
  const std::string topic = UniqueName();
  ASSERT_TRUE((*log)->admin().CreateTopic({.name = topic, .partitions = 1, .config = {}}).ok());
  const KafkaHandle producer = NewTransactionalProducer(address);
  ASSERT_EQ(rd_kafka_begin_transaction(producer.get()), nullptr);
  for (int i = 0; i < 3; ++i) Produce(producer.get(), topic, "open");
  ASSERT_EQ(rd_kafka_flush(producer.get(), 60'000), RD_KAFKA_RESP_ERR_NO_ERROR);

  const auto consumer = *(*log)->NewConsumer({.group_id = UniqueName()});
  ASSERT_TRUE(consumer->Subscribe({topic}, nullptr).ok());
  std::vector<ConsumerRecord> records;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto poll_until = [&](uint64_t held) {
    while (consumer->Measure().held_records != held && std::chrono::steady_clock::now() < deadline)
      ASSERT_TRUE(consumer->Poll(std::chrono::milliseconds(50), 10, &records).ok());
    EXPECT_EQ(consumer->Measure().held_records, held);
  };
  poll_until(3);
  EXPECT_EQ(consumer->Measure().lag_records, 3);
  EXPECT_TRUE(records.empty());
  ASSERT_EQ(rd_kafka_commit_transaction(producer.get(), 60'000), nullptr);
  poll_until(0);
}

class CountingListener final : public RebalanceListener {
 public:
  std::optional<int64_t> OnPartitionAssigned(const TopicPartition&) override {
    ++assigned;
    return std::nullopt;
  }
  void OnPartitionRevoked(const TopicPartition&, bool) override {}
  int assigned = 0;
};

// As of a stage whose broker was killed within a transaction: nobody can be told where its group
// stands, and the stage seeks to where its state says.
TEST(KafkaTransactions, APartitionWhoseCommitIsOpenIsSought) {
  const char* address = std::getenv("EROICA_TEST_BROKER");
  if (address == nullptr) GTEST_SKIP() << "EROICA_TEST_BROKER is not set: run ops/test.sh";
  auto log = KafkaLog::Open({.bootstrap_servers = address,
                             .properties = {},
                             .request_timeout = std::chrono::milliseconds(1'000)});
  ASSERT_TRUE(log.ok()) << log.status();
  const std::string topic = UniqueName();
  const std::string group = UniqueName();
  ASSERT_TRUE((*log)->admin().CreateTopic({.name = topic, .partitions = 1, .config = {}}).ok());
  const KafkaHandle producer = NewTransactionalProducer(address);
  ASSERT_EQ(rd_kafka_begin_transaction(producer.get()), nullptr);
  const KafkaPartitionList offsets = MakePartitionList(1);
  AddPartition(offsets, {topic, 0}, 7);
  rd_kafka_consumer_group_metadata_t* member = rd_kafka_consumer_group_metadata_new(group.c_str());
  const KafkaError sent(
      rd_kafka_send_offsets_to_transaction(producer.get(), offsets.get(), member, 30'000));
  rd_kafka_consumer_group_metadata_destroy(member);
  ASSERT_EQ(sent, nullptr) << rd_kafka_error_string(sent.get());

  CountingListener listener;
  const auto consumer = *(*log)->NewConsumer({.group_id = group});
  ASSERT_TRUE(consumer->Subscribe({topic}, &listener).ok());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::vector<ConsumerRecord> records;
  while (listener.assigned == 0 && std::chrono::steady_clock::now() < deadline)
    ASSERT_TRUE(consumer->Poll(std::chrono::milliseconds(100), 10, &records).ok());
  ASSERT_EQ(listener.assigned, 1);
  const absl::Status sought = consumer->Seek({topic, 0}, 0);
  EXPECT_TRUE(sought.ok()) << sought;
  const KafkaError aborted(rd_kafka_abort_transaction(producer.get(), 30'000));
  EXPECT_EQ(aborted, nullptr) << rd_kafka_error_string(aborted.get());
}

}  // namespace
}  // namespace eroica

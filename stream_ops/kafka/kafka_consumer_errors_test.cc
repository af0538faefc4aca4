// What a consumer does about errors of a fetch: brokers of librdkafka's own, in this process, that
// answer as a test says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "stream_ops/kafka/kafka_handles.h"
#include "stream_ops/kafka/kafka_log.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int16_t kFetch = 1;  // of Kafka's protocol
constexpr const char* kEvents = "events";

class KafkaFetchErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    KafkaConf conf(rd_kafka_conf_new());
    char reason[512];
    owner_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf.release(), reason, sizeof(reason)));
    ASSERT_NE(owner_, nullptr) << reason;
    cluster_.reset(rd_kafka_mock_cluster_new(owner_.get(), 1));
    ASSERT_EQ(rd_kafka_mock_topic_create(cluster_.get(), kEvents, 1, 1),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    auto log =
        KafkaLog::Open({.bootstrap_servers = rd_kafka_mock_cluster_bootstraps(cluster_.get()),
                        .properties = {{"fetch.error.backoff.ms", "1"}}});
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    const auto producer = log_->NewProducer();
    ASSERT_TRUE(producer.ok()) << producer.status();
    for (const char* value : {"a", "b", "c"}) {
      ASSERT_TRUE((*producer)
                      ->Append({.topic = kEvents,
                                .key = "k",
                                .value = value,
                                .headers = {},
                                .timestamp_ms = 1,
                                .partition = 0})
                      .ok());
    }
    ASSERT_TRUE((*producer)->Flush(std::chrono::seconds(30)).ok());
  }

  void AnswerFetchWith(const std::vector<rd_kafka_resp_err_t>& errors) {
    rd_kafka_mock_push_request_errors_array(cluster_.get(), kFetch, errors.size(), errors.data());
  }

  struct Read {
    absl::Status status;
    std::vector<std::string> values;
    std::vector<DamagedRange> damaged;
  };
  // Until all three are there, or an error.
  Read ReadAll() {
    Read read;
    const auto consumer = log_->NewConsumer({});
    EXPECT_TRUE(consumer.ok()) << consumer.status();
    EXPECT_TRUE((*consumer)->Subscribe({kEvents}, nullptr).ok());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (read.values.size() < 3 && std::chrono::steady_clock::now() < deadline) {
      std::vector<ConsumerRecord> records;
      read.status = (*consumer)->Poll(std::chrono::milliseconds(100), 10, &records);
      if (!read.status.ok()) break;
      for (const ConsumerRecord& record : records) read.values.push_back(record.value);
      for (const DamagedRange& range : (*consumer)->TakeDamaged()) read.damaged.push_back(range);
    }
    return read;
  }

  KafkaHandle owner_;
  KafkaOwned<rd_kafka_mock_cluster_t, rd_kafka_mock_cluster_destroy> cluster_;
  std::unique_ptr<Log> log_;
};

TEST_F(KafkaFetchErrors, ThoseThatPassAndThoseThatNobodyKnowsAreTriedAgain) {
  AnswerFetchWith({RD_KAFKA_RESP_ERR_UNKNOWN, RD_KAFKA_RESP_ERR_FETCH_SESSION_ID_NOT_FOUND,
                   RD_KAFKA_RESP_ERR_STALE_BROKER_EPOCH, static_cast<rd_kafka_resp_err_t>(200)});
  const Read read = ReadAll();
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.values, ElementsAre("a", "b", "c"));
  EXPECT_THAT(read.damaged, IsEmpty());
}

TEST_F(KafkaFetchErrors, WhatCanBeReadAtTheSecondLookIsNotSkipped) {
  AnswerFetchWith({RD_KAFKA_RESP_ERR_INVALID_MSG});
  const Read read = ReadAll();
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.values, ElementsAre("a", "b", "c"));
  EXPECT_THAT(read.damaged, IsEmpty());
}

class ThrowingListener : public RebalanceListener {
 public:
  std::optional<int64_t> OnPartitionAssigned(const TopicPartition&) override {
    throw std::bad_alloc();
  }
  void OnPartitionRevoked(const TopicPartition&, bool) override { throw std::bad_alloc(); }
};

// librdkafka, which is C, waits for an answer to a rebalance, whatever happens on our side.
// Throws at stream_ops/kafka/kafka_client.cc: rebalances
TEST_F(KafkaFetchErrors, ARebalanceThatThrowsEndsTheConsumerAndNotTheProcess) {
  ThrowingListener listener;
  auto consumer = *log_->NewConsumer({.group_id = "group"});
  ASSERT_TRUE(consumer->Subscribe({kEvents}, &listener).ok());
  absl::Status status;
  std::vector<ConsumerRecord> records;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (status.ok() && std::chrono::steady_clock::now() < deadline)
    status = consumer->Poll(std::chrono::milliseconds(100), 10, &records);
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("std::bad_alloc"));
  EXPECT_THAT(records, IsEmpty()) << "nothing is assigned";
  consumer.reset();  // leaves the group: librdkafka got its answer
  EXPECT_THAT(ReadAll().values, ElementsAre("a", "b", "c"));
}

TEST_F(KafkaFetchErrors, WhoMayNotReadHearsIt) {
  AnswerFetchWith(std::vector(20, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
  EXPECT_EQ(ReadAll().status.code(), absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace eroica

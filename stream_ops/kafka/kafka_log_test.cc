// What needs no broker: settings and their errors, and how a cluster that is not there is told. The
// rest: tests/integration/kafka_log_test.cc.
#include "stream_ops/kafka/kafka_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <string>

#include "stream_ops/kafka/kafka_client.h"

namespace eroica {
namespace {

using testing::HasSubstr;
using testing::Not;

// Port 1 on loopback: nobody listens there.
KafkaOptions NobodyListens() {
  return {.bootstrap_servers = "127.0.0.1:1",
          .properties = {},
          .request_timeout = std::chrono::milliseconds(3'000)};
}

absl::Status OpenWith(const std::string& name, const std::string& value) {
  KafkaOptions options = NobodyListens();
  options.properties[name] = value;
  return KafkaLog::Open(options).status();
}

// As of a consumer that is being closed: librdkafka answers no protocol at all.
TEST(KafkaClient, OfWhatHasNoGroupNothingIsCooperative) {
  KafkaEvents events("127.0.0.1:1");
  const auto handle = MakeKafkaHandle(NobodyListens(), KafkaRole::kProducer, {}, &events);
  ASSERT_TRUE(handle.ok()) << handle.status();
  ASSERT_EQ(rd_kafka_rebalance_protocol(handle->get()), nullptr);
  EXPECT_FALSE(IsCooperative(handle->get()));
}

TEST(KafkaOptions, AnUnknownPropertyIsNamed) {
  const absl::Status status = OpenWith("no.such.property", "1");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no property 'no.such.property'"));
}

TEST(KafkaOptions, ABadValueIsNamed) {
  const absl::Status status = OpenWith("linger.ms", "soon");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'linger.ms' = 'soon'"));
}

TEST(KafkaOptions, WhatIsOursToSetIsRefused) {
  const absl::Status status = OpenWith("enable.auto.commit", "true");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("enable.auto.commit"));
}

TEST(KafkaOptions, SecretsAreNotShown) {
  // Longer than librdkafka takes, so that the value is refused.
  const absl::Status status = OpenWith("ssl.key.pem", "not a key: hunter2");
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2"))) << status;
  KafkaOptions options = NobodyListens();
  options.properties = {{"security.protocol", "sasl_plaintext"},
                        {"sasl.mechanisms", "PLAIN"},
                        {"sasl.username", "u"},
                        {"sasl.password", "hunter2"}};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    auto log = KafkaLog::Open(options);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_THAT((*log)->admin().DescribeTopic("t").status().ToString(), Not(HasSubstr("hunter2")));
  }
  EXPECT_THAT(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(),
              Not(HasSubstr("hunter2")));
}

// Debian 12 has a librdkafka that is too old for SCRAM with Kafka 4.
TEST(KafkaOptions, ScramIsWarnedOfWhereThisLibrdkafkaCannotDoItEverywhere) {
  const auto warning_with = [](const std::string& mechanism) {
    testing::internal::CaptureStdout();
    KafkaOptions options = NobodyListens();
    options.properties = {{"sasl.mechanisms", mechanism}};
    EXPECT_TRUE(KafkaLog::Open(options).ok());
    return testing::internal::GetCapturedStdout();
  };
  const bool too_old = rd_kafka_version() < 0x020601ff;
  EXPECT_EQ(warning_with("SCRAM-SHA-512").find("cannot log in to Kafka 4") != std::string::npos,
            too_old);
  EXPECT_EQ(warning_with("PLAIN"), "");
}

TEST(KafkaOptions, NoBootstrapServersIsToldAtOnce) {
  EXPECT_EQ(KafkaLog::Open({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(KafkaOptions, SettingsThatDoNotFitTogetherAreTold) {
  KafkaOptions options = NobodyListens();
  options.properties = {{"enable.idempotence", "true"}, {"acks", "1"}};
  auto log = KafkaLog::Open(options);
  ASSERT_TRUE(log.ok()) << log.status();
  const absl::Status status = (*log)->NewProducer().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("acks"));
}

TEST(KafkaLog, ADeadClusterIsToldToTheConsumerWithItsAddress) {
  auto log = KafkaLog::Open(NobodyListens());
  ASSERT_TRUE(log.ok());
  for (const std::string group : {"", "g"}) {
    auto consumer =
        (*log)->NewConsumer({.group_id = group, .group_instance_id = "", .properties = {}});
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
    std::vector<ConsumerRecord> records;
    const absl::Status status = (*consumer)->Poll(std::chrono::milliseconds(10), 10, &records);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("127.0.0.1:1"));
  }
}

TEST(KafkaLog, ADeadClusterIsToldToTheProducerWithItsAddress) {
  auto log = KafkaLog::Open(NobodyListens());
  ASSERT_TRUE(log.ok());
  auto producer = (*log)->NewProducer();
  ASSERT_TRUE(producer.ok()) << producer.status();
  const ProducerRecord record{.topic = "t",
                              .key = "k",
                              .value = "v",
                              .headers = {{"h", "v"}},
                              .timestamp_ms = 1,
                              .partition = {}};
  // Whether the cluster is known to be dead yet or the record still goes to the queue is a matter
  // of microseconds; in the end both say so.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  absl::Status appended;
  while (appended.ok() && std::chrono::steady_clock::now() < deadline) {
    appended = (*producer)->Append(record);
    if (appended.ok()) {
      EXPECT_FALSE((*producer)->Flush(std::chrono::milliseconds(100)).ok());
    }
  }
  for (const absl::Status& status :
       {appended, (*producer)->Flush(std::chrono::milliseconds(100))}) {
    if (status.ok()) continue;  // a flush of nothing
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("127.0.0.1:1"));
  }
  EXPECT_FALSE(appended.ok());
}

TEST(KafkaLog, ADeadClusterIsToldToTheAdmin) {
  auto log = KafkaLog::Open(NobodyListens());
  ASSERT_TRUE(log.ok());
  EXPECT_EQ((*log)->admin().DescribeTopic("t").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*log)->admin().EndOffsets("t").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*log)->admin().CreateTopic({.name = "t", .partitions = 1, .config = {}}).code(),
            absl::StatusCode::kUnavailable);
}

TEST(KafkaLog, AFullQueueIsTold) {
  KafkaOptions options = NobodyListens();
  options.properties = {{"queue.buffering.max.messages", "10"}};
  auto log = KafkaLog::Open(options);
  ASSERT_TRUE(log.ok()) << log.status();
  auto producer = (*log)->NewProducer();
  absl::Status status;
  // The cluster is found to be dead at some point; until then the queue fills.
  for (int i = 0; i < 11 && status.ok(); ++i) {
    status = (*producer)->Append({.topic = "t",
                                  .key = "k",
                                  .value = "v",
                                  .headers = {},
                                  .timestamp_ms = 1,
                                  .partition = {}});
  }
  EXPECT_THAT(status.code(),
              testing::AnyOf(absl::StatusCode::kResourceExhausted, absl::StatusCode::kUnavailable))
      << status;
}

}  // namespace
}  // namespace eroica

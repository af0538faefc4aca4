#include "stream_ops/kafka/kafka_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <new>
#include <string>

namespace eroica {
namespace {

using ::testing::HasSubstr;

class ThrowingEvents : public KafkaEvents {
 public:
  ThrowingEvents() : KafkaEvents("127.0.0.1:1") {}
  void OnDelivery(const rd_kafka_message_t&) override {
    ++deliveries;
    throw std::bad_alloc();
  }
  int deliveries = 0;
};

// librdkafka is C: an exception that reached it would end the process. No broker is needed: what is
// delivered is that the message has timed out.
TEST(KafkaCallbacks, WhatOneThrowsStopsBeforeLibrdkafka) {
  ThrowingEvents events;
  const auto handle =
      MakeKafkaHandle({.bootstrap_servers = "127.0.0.1:1", .properties = {}}, KafkaRole::kProducer,
                      {{"message.timeout.ms", "5"},
                       {"linger.ms", "0"},
                       {"enable.idempotence", "false"},
                       kNoStatistics},
                      &events);
  ASSERT_TRUE(handle.ok()) << handle.status();
  ASSERT_EQ(rd_kafka_producev(handle->get(), RD_KAFKA_V_TOPIC("t"),
                              RD_KAFKA_V_VALUE(const_cast<char*>("x"), 1), RD_KAFKA_V_END),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (events.deliveries == 0 && std::chrono::steady_clock::now() < deadline)
    rd_kafka_poll(handle->get(), 100);
  EXPECT_EQ(events.deliveries, 1);
  const absl::Status thrown = events.TakeThrown();
  EXPECT_TRUE(absl::IsInternal(thrown));
  EXPECT_THAT(std::string(thrown.message()), HasSubstr("std::bad_alloc"));
  EXPECT_TRUE(events.TakeThrown().ok()) << "once";
}

}  // namespace
}  // namespace eroica

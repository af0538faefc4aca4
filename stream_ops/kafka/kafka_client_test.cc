#include "stream_ops/kafka/kafka_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "schemas/testing/failing_new.h"
#include "schemas/testing/throwing_log.h"

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

// False: it never became so.
bool PollUntil(const KafkaHandle& handle, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    rd_kafka_poll(handle.get(), 10);
  }
  return true;
}

// Of a client that nobody listens to, at port 1 of loopback, unless `more` names brokers.
KafkaHandle OpenClient(KafkaEvents* events, const KafkaProperties& more) {
  auto handle = MakeKafkaHandle({.bootstrap_servers = "127.0.0.1:1", .properties = {}},
                                KafkaRole::kProducer, more, events);
  EXPECT_TRUE(handle.ok()) << handle.status();
  return handle.ok() ? *std::move(handle) : KafkaHandle();
}

// What a callback has thrown when this thread, which has no memory, polls for long enough.
absl::Status ThrownWithoutMemory(const KafkaHandle& handle, KafkaEvents& events) {
  absl::Status thrown;
  EXPECT_TRUE(PollUntil(handle, [&] {
    {
      const FailingNew no_memory(FailingNew::Where::kThisThread);
      rd_kafka_poll(handle.get(), 10);
    }
    thrown = events.TakeThrown();
    return !thrown.ok();
  }));
  return thrown;
}

// librdkafka is C: an exception that reached it would end the process. No broker is needed: what is
// delivered is that the message has timed out.
// Throws at stream_ops/kafka/kafka_client.cc: all callbacks but those of the log and of rebalances
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

TEST(KafkaCallbacks, AnErrorForWhichThereIsNoMemoryIsAnErrorOfTheClient) {
  KafkaEvents events("127.0.0.1:1");
  const KafkaHandle handle = OpenClient(&events, {kNoStatistics});
  const absl::Status thrown = ThrownWithoutMemory(handle, events);
  EXPECT_TRUE(absl::IsInternal(thrown));
  EXPECT_THAT(std::string(thrown.message()), HasSubstr("std::bad_alloc"));
  EXPECT_TRUE(PollUntil(handle, [&] { return events.down(); })) << "later errors are heard";
}

TEST(KafkaCallbacks, StatisticsForWhichThereIsNoMemoryAreAnErrorOfTheClient) {
  KafkaEvents events("127.0.0.1:1");
  // With a broker of librdkafka's own there are no errors that would throw instead.
  const KafkaHandle handle =
      OpenClient(&events, {{"test.mock.num.brokers", "1"}, {"statistics.interval.ms", "1"}});
  const absl::Status thrown = ThrownWithoutMemory(handle, events);
  EXPECT_TRUE(absl::IsInternal(thrown));
  EXPECT_THAT(std::string(thrown.message()), HasSubstr("std::bad_alloc"));
}

// Asked for at the client, as OpenSSL's handshake with a broker would call it.
TEST(KafkaCallbacks, ACertificateForWhoseFaultThereIsNoMemoryIsNotBelieved) {
  using OnCertificate = int (*)(rd_kafka_t*, const char*, int32_t, int*, int, const char*, size_t,
                                char*, size_t, void*);
  KafkaEvents events("127.0.0.1:1");
  const KafkaHandle handle = OpenClient(&events, {kNoStatistics});
  std::array<char, 64> address{};
  size_t size = address.size();
  ASSERT_EQ(rd_kafka_conf_get(rd_kafka_conf(handle.get()), "ssl.certificate.verify_cb",
                              address.data(), &size),
            RD_KAFKA_CONF_OK);
  const auto on_certificate =
      reinterpret_cast<OnCertificate>(std::strtoull(address.data(), nullptr, 16));
  ASSERT_NE(on_certificate, nullptr);
  int problem = X509_V_ERR_CERT_HAS_EXPIRED;
  std::array<char, 64> why{};
  const auto ask = [&] {
    return on_certificate(handle.get(), "broker", 1, &problem, 0, nullptr, 0, why.data(),
                          why.size(), &events);
  };
  {
    const FailingNew no_memory(FailingNew::Where::kThisThread);
    EXPECT_EQ(ask(), 0);
    EXPECT_GT(no_memory.failed(), 0);
  }
  EXPECT_TRUE(absl::IsInternal(events.TakeThrown()));
  EXPECT_EQ(ask(), 0);
  EXPECT_STREQ(why.data(), "the certificate has expired");
  EXPECT_TRUE(events.TakeThrown().ok());
}

// librdkafka logs on threads of its own.
// Throws at stream_ops/kafka/kafka_client.cc: the log
TEST(KafkaCallbacks, ALogThatThrowsEndsNoThreadOfLibrdkafkas) {
  KafkaEvents events("127.0.0.1:1");
  const ThrowingLog log("kafka: ");
  const KafkaHandle handle = OpenClient(&events, {kNoStatistics});
  EXPECT_TRUE(PollUntil(handle, [&] { return log.thrown() > 0; }));
  EXPECT_TRUE(PollUntil(handle, [&] { return events.down(); })) << "the threads live";
}

}  // namespace
}  // namespace eroica

#include "stream_ops/kafka/kafka_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

#include <span>
#include <string>

#include "stream_ops/kafka/kafka_client.h"

namespace eroica {
namespace {

TEST(KafkaError, ARefusedLogInOrCertificateIsForGood) {
  EXPECT_TRUE(IsRefusedConnection(RD_KAFKA_RESP_ERR__AUTHENTICATION,
                                  "SASL authentication error: Invalid username or password"));
  EXPECT_TRUE(IsRefusedConnection(
      RD_KAFKA_RESP_ERR__SSL,
      "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker "
      "certificate could not be verified"));
  EXPECT_TRUE(IsRefusedConnection(
      RD_KAFKA_RESP_ERR__TRANSPORT,
      "Receive failed: SSL routines::sslv3 alert bad certificate: SSL alert number 42"));
}

// What a broker leaves behind that is killed, at whatever moment.
TEST(KafkaError, ABrokenConnectionIsNone) {
  EXPECT_FALSE(IsRefusedConnection(
      RD_KAFKA_RESP_ERR__SSL,
      "SSL handshake failed: SSL routines::unexpected eof while reading (in state SSL_HANDSHAKE)"));
  EXPECT_FALSE(IsRefusedConnection(RD_KAFKA_RESP_ERR__SSL,
                                   "SSL handshake failed: Disconnected: connecting"));
  EXPECT_FALSE(IsRefusedConnection(RD_KAFKA_RESP_ERR__TRANSPORT,
                                   "Receive failed: SSL routines::unexpected eof while reading"));
  EXPECT_FALSE(IsRefusedConnection(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, ""));
}

TEST(KafkaEvents, AnErrorMayComeWithoutText) {
  KafkaEvents events("nowhere:1");
  events.NoteError(RD_KAFKA_RESP_ERR__TIMED_OUT, nullptr);
  EXPECT_FALSE(events.down());
  events.NoteError(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, nullptr);
  EXPECT_TRUE(events.down());
  EXPECT_THAT(std::string(events.DownStatus().message()), ::testing::HasSubstr("imed out"));
}

TEST(KafkaError, EveryErrorOfLibrdkafkaHasAKind) {
  const rd_kafka_err_desc* errors = nullptr;
  size_t count = 0;
  rd_kafka_get_err_descs(&errors, &count);
  size_t named = 0;
  for (const rd_kafka_err_desc& error : std::span(errors, count)) {
    const bool is_mark =
        error.code == RD_KAFKA_RESP_ERR__BEGIN || error.code == RD_KAFKA_RESP_ERR__END;
    if (error.desc == nullptr || is_mark) continue;
    ++named;
    EXPECT_TRUE(IsKnownKafkaError(error.code)) << error.name << " " << error.code;
    EXPECT_EQ(KafkaErrorCode(error.code) == absl::StatusCode::kOk,
              error.code == RD_KAFKA_RESP_ERR_NO_ERROR)
        << error.name;
    EXPECT_NE(KafkaErrorCode(error.code), absl::StatusCode::kInternal) << error.name;
    // What is tried again must not be taken for an end by whoever sees only its status.
    if (KindOfKafkaError(error.code) == KafkaErrorKind::kTransient) {
      EXPECT_THAT(KafkaErrorCode(error.code),
                  ::testing::AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kAborted,
                                   absl::StatusCode::kResourceExhausted))
          << error.name;
    }
  }
  EXPECT_GT(named, 150U);
}

TEST(KafkaError, OneThatNobodyKnowsIsTriedAgain) {
  for (const int number : {-99, -250, 98, 200}) {
    const auto error = static_cast<rd_kafka_resp_err_t>(number);
    EXPECT_FALSE(IsKnownKafkaError(error));
    EXPECT_EQ(KindOfKafkaError(error), KafkaErrorKind::kTransient);
    EXPECT_EQ(KafkaErrorCode(error), absl::StatusCode::kUnavailable);
  }
}

TEST(KafkaError, WhatCannotBeReadIsData) {
  for (const rd_kafka_resp_err_t error :
       {RD_KAFKA_RESP_ERR__BAD_MSG, RD_KAFKA_RESP_ERR__BAD_COMPRESSION,
        RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED, RD_KAFKA_RESP_ERR_INVALID_MSG,
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE})
    EXPECT_EQ(KindOfKafkaError(error), KafkaErrorKind::kData) << rd_kafka_err2name(error);
}

// Which of the two it is depends on how soon the broker answers.
TEST(KafkaEvents, WhyACertificateIsNotBelievedIsSaidWhicheverErrorReportsIt) {
  for (const rd_kafka_resp_err_t error : {RD_KAFKA_RESP_ERR__SSL, RD_KAFKA_RESP_ERR__TRANSPORT}) {
    KafkaEvents events("broker:9093");
    events.NoteBadCertificate(X509_V_ERR_HOSTNAME_MISMATCH);
    events.NoteError(error, "error:0A000086:SSL routines::certificate verify failed");
    EXPECT_EQ(events.DownStatus().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(events.DownStatus().message()),
                ::testing::HasSubstr("the certificate is for another host"));
    // The broker's refusal of ours, later, has nothing to do with that.
    events.NoteError(error, "Receive failed: sslv3 alert bad certificate: SSL alert number 42");
    EXPECT_THAT(std::string(events.DownStatus().message()),
                ::testing::Not(::testing::HasSubstr("for another host")));
  }
}

}  // namespace
}  // namespace eroica

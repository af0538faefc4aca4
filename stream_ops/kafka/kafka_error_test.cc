#include "stream_ops/kafka/kafka_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

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

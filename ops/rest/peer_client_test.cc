// What a server may answer: the client takes what is HTTP within its limits, and survives the rest.
#include "ops/rest/peer_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ops/rest/testing/raw_server.h"

namespace eroica::rest {
namespace {

using ::testing::HasSubstr;

class PeerClientTest : public ::testing::Test {
 protected:
  absl::StatusOr<HttpResponse> Ask(const std::string& answer, PeerRequest request = {}) {
    server_.Answer(answer);
    request.server = server_.url();
    request.target = "/";
    return WaitForPeer({}, std::move(request), [] { return true; });
  }
  std::string BodyOf(const std::string& answer) {
    const auto response = Ask(answer);
    EXPECT_TRUE(response.ok()) << response.status() << "\n" << answer;
    return response.ok() ? *response->body : "";
  }
  // Why there is no answer.
  std::string Refused(const std::string& answer) {
    const auto response = Ask(answer);
    EXPECT_TRUE(absl::IsUnavailable(response.status())) << response.status() << "\n" << answer;
    return std::string(response.status().message());
  }

  RawServer server_;
};

TEST_F(PeerClientTest, TakesEveryFramingOfABody) {
  EXPECT_EQ(BodyOf("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), "{}");
  EXPECT_EQ(BodyOf("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}more"), "{}");
  EXPECT_EQ(BodyOf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;a\r\n}\r\n"
                   "0\r\nX-Checksum: 1\r\n\r\n"),
            "{}");
  EXPECT_EQ(BodyOf("HTTP/1.0 200 OK\r\n\r\nto the end"), "to the end");
  EXPECT_EQ(BodyOf("HTTP/1.1 204 No Content\r\n\r\n"), "");
  EXPECT_EQ(BodyOf("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n"
                   "Content-Length: 2\r\n\r\n{}"),
            "{}");
}

TEST_F(PeerClientTest, ADeclaredLengthReservesNothing) {
  EXPECT_THAT(Refused("HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\n"),
              HasSubstr("too large"));
  EXPECT_THAT(Refused("HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\nonly this"),
              HasSubstr("ended within the body"));
  EXPECT_THAT(Refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4000001\r\n"),
              HasSubstr("too large"));
}

TEST_F(PeerClientTest, EveryPartOfAnAnswerIsBounded) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  EXPECT_THAT(Refused(ok + "X: " + std::string(20'000, 'x') + "\r\n\r\n"), HasSubstr("headers"));
  std::string many = ok;
  for (int i = 0; i < 101; ++i) many += "X: y\r\n";
  EXPECT_THAT(Refused(many + "\r\n"), HasSubstr("too many headers"));
  const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(Refused(chunked + "0\r\nX: " + std::string(9'000, 'x') + "\r\n\r\n"),
              HasSubstr("trailers"));
  EXPECT_THAT(Refused(chunked + "1;" + std::string(5'000, 'x') + "\r\n"), HasSubstr("extensions"));
  std::string interim;
  for (int i = 0; i < 6; ++i) interim += "HTTP/1.1 103 Early Hints\r\n\r\n";
  EXPECT_THAT(Refused(interim), HasSubstr("interim"));
}

TEST_F(PeerClientTest, WhatIsNoAnswerIsSaid) {
  Refused("");
  Refused("nonsense\r\n\r\n");
  Refused("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}");
  Refused("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{");
  Refused("HTTP/1.1 101 Switching Protocols\r\n\r\n");
}

TEST_F(PeerClientTest, WhatALibraryThrowsIsAnAnswerThatDidNotCome) {
  PeerRequest request;
  // Beast throws where a header's value does not fit into the number of its length.
  request.headers.emplace_back("X", std::string(70'000, 'x'));
  const auto response = Ask("", std::move(request));
  EXPECT_TRUE(absl::IsUnavailable(response.status())) << response.status();
  EXPECT_THAT(std::string(response.status().message()), HasSubstr("std::length_error"));
}

}  // namespace
}  // namespace eroica::rest

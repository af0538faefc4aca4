// What would end a server that trusts its peers and its libraries: exceptions at each of its
// boundaries, and messages of which one part is too large or said twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "ops/rest/server.h"
#include "ops/rest/testing/raw_client.h"
#include "ops/rest/testing/shown_job.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kHead = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n";

class ServerGuardTest : public ::testing::Test {
 protected:
  enum class Throws : uint8_t { kNothing, kBadAlloc, kRuntimeError, kInt };

  void Start(const ServerLimits& limits = {}) {
    RestSources sources = job_.sources();
    sources.metrics = [this] {
      ThrowIfAsked(in_answer_);
      return std::string("eroica_node_ready 1\n");
    };
    sources.others = [this] {
      ThrowIfAsked(in_connection_);
      return std::vector<KnownNode>();
    };
    service_ = std::make_unique<RestService>(sources, GateOptions{.tokens = {}, .hosts = {}});
    server_ = *RestServer::Start(*service_, {.tls = {}, .peers = {}, .limits = limits});
  }
  static void ThrowIfAsked(Throws what) {
    if (what == Throws::kBadAlloc) throw std::bad_alloc();
    if (what == Throws::kRuntimeError) throw std::runtime_error("of a library");
    if (what == Throws::kInt) throw 7;
  }
  int StatusOf(const std::string& request) {
    RawClient client(server_->port());
    client.Send(request);
    return client.Read().status;
  }
  int StatusOfGet(const std::string& target) {
    return StatusOf("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  // What a request is refused with; the connection is closed behind it.
  int Refused(const std::string& request) {
    RawClient client(server_->port());
    client.Send(request);
    const int status = client.Read().status;
    EXPECT_TRUE(client.IsClosed()) << request;
    return status;
  }
  int RefusedChunks(const std::string& chunks) {
    return Refused(std::string(kHead) + "Transfer-Encoding: chunked\r\n\r\n" + chunks);
  }

  std::atomic<Throws> in_answer_ = Throws::kNothing;
  std::atomic<Throws> in_connection_ = Throws::kNothing;
  ShownJob job_;
  std::unique_ptr<RestService> service_;
  std::unique_ptr<RestServer> server_;
};

// Throws at ops/rest/server_state.h: the making of an answer
TEST_F(ServerGuardTest, AHandlerThatThrowsIsAnsweredAndTheConnectionGoesOn) {
  Start();
  for (const Throws what : {Throws::kBadAlloc, Throws::kRuntimeError, Throws::kInt}) {
    in_answer_ = what;
    RawClient client(server_->port());
    client.Get("/metrics");
    const auto failed = client.Read();
    EXPECT_EQ(failed.status, 500);
    EXPECT_THAT(failed.body, HasSubstr("the node's log"));
    in_answer_ = Throws::kNothing;
    client.Get("/metrics");
    EXPECT_EQ(client.Read().status, 200);
  }
  EXPECT_EQ(server_->probe().exceptions, 3U);
}

// Throws at ops/rest/server.cc: a connection
TEST_F(ServerGuardTest, AnExceptionEndsItsConnectionAlone) {
  Start();
  RawClient other(server_->port());
  other.Get("/healthz");
  EXPECT_EQ(other.Read().status, 200);
  uint64_t thrown = 0;
  for (const Throws what : {Throws::kBadAlloc, Throws::kRuntimeError, Throws::kInt}) {
    in_connection_ = what;
    RawClient client(server_->port());
    client.Get("/v1/jobs");
    EXPECT_TRUE(client.IsClosed());
    ++thrown;
    while (server_->probe().exceptions < thrown) std::this_thread::yield();  // once it is closed
    in_connection_ = Throws::kNothing;
    EXPECT_EQ(StatusOfGet("/v1/jobs"), 200);
  }
  other.Get("/healthz");
  EXPECT_EQ(other.Read().status, 200);
}

TEST_F(ServerGuardTest, TheHeadIsBoundedInBytesAndHeaders) {
  Start({.header_bytes = 2'000, .headers = 10});
  const auto with_headers = [](int count) {
    std::string request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
    for (int i = 1; i < count; ++i) request += "X: y\r\n";
    return request + "\r\n";
  };
  EXPECT_EQ(StatusOf(with_headers(10)), 200);
  EXPECT_EQ(Refused(with_headers(11)), 431);
  EXPECT_EQ(Refused("GET /" + std::string(3'000, 'x')), 431) << "also where no line ends";
}

TEST_F(ServerGuardTest, WhatSurroundsTheChunksIsBounded) {
  Start({.header_bytes = 1'000, .body_bytes = 100});
  EXPECT_EQ(StatusOf(std::string(kHead) + "Transfer-Encoding: chunked\r\n\r\n" +
                     "2;a=b\r\n{}\r\n0\r\nX-Checksum: 1\r\n\r\n"),
            405)
      << "the API's own answer: the message is a good one";
  EXPECT_EQ(RefusedChunks("0\r\nX: " + std::string(2'000, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(RefusedChunks("2;" + std::string(5'000, 'x') + "\r\n{}\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(RefusedChunks("65\r\n"), 413);
  EXPECT_EQ(RefusedChunks("2\r\n{}x\r\n0\r\n\r\n"), 400);
}

TEST_F(ServerGuardTest, WhatFollowsABodyIsTheNextRequest) {
  Start();
  RawClient client(server_->port());
  client.Send(std::string(kHead) + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" +
              "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.Read().status, 405);
  EXPECT_EQ(client.Read().status, 200);
  client.Send(std::string(kHead) + "Content-Length: 2\r\n\r\n{}nonsense\r\n\r\n");
  EXPECT_EQ(client.Read().status, 405);
  EXPECT_EQ(client.Read().status, 400);
  EXPECT_TRUE(client.IsClosed());
}

TEST_F(ServerGuardTest, AHeaderThatIsOneValueMayStandOnce) {
  Start();
  const std::string get = "GET /healthz HTTP/1.1\r\n";
  EXPECT_EQ(StatusOf(get + "Host: localhost\r\nAuthorization: Bearer x\r\n\r\n"), 200);
  EXPECT_EQ(Refused(get + "Host: localhost\r\nHost: localhost\r\n\r\n"), 400);
  EXPECT_EQ(Refused(get + "Host: localhost\r\nAuthorization: Bearer x\r\n" +
                    "authorization: Bearer y\r\n\r\n"),
            400);
  EXPECT_EQ(Refused(std::string(kHead) + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), 400);
  EXPECT_EQ(Refused(std::string(kHead) + "Transfer-Encoding: gzip\r\n\r\n"), 400);
}

}  // namespace
}  // namespace eroica

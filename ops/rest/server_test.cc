#include "ops/rest/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "ops/rest/testing/raw_client.h"
#include "ops/rest/testing/shown_job.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

class RestServerTest : public ::testing::Test {
 protected:
  void Start(const ServerLimits& limits = {}) {
    auto server = RestServer::Start(service_, {.tls = {}, .limits = limits});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  // What a malformed request is answered with; the connection is closed behind it.
  int Refused(const std::string& request) {
    RawClient client(server_->port());
    client.Send(request);
    const int status = client.Read().status;
    EXPECT_TRUE(client.IsClosed()) << request;
    return status;
  }

  ShownJob job_;
  RestService service_{job_.sources(), {.tokens = {}, .hosts = {}}};
  std::unique_ptr<RestServer> server_;
};

TEST_F(RestServerTest, AnswersOneRequestAfterTheOther) {
  Start();
  RawClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.Get("/v1/jobs"));
    const auto response = client.Read();
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.body, HasSubstr("night/7"));
    EXPECT_THAT(response.head, HasSubstr("nosniff"));
  }
  // Two at once are answered in their order.
  ASSERT_TRUE(client.Send(
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /readyz HTTP/1.1\r\nHost: localhost\r\n"
      "\r\n"));
  EXPECT_THAT(client.Read().body, HasSubstr("healthy"));
  EXPECT_THAT(client.Read().body, HasSubstr("ready"));
  EXPECT_EQ(server_->probe().responses.at(200), 5U);
}

TEST_F(RestServerTest, HeadTagsAndGzip) {
  Start();
  RawClient client(server_->port());
  client.Send("HEAD /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.Read(false).head, HasSubstr("Content-Length: "));
  client.Get("/v1/jobs/night%2F7/steps", "Accept-Encoding: gzip\r\n");
  const auto packed = client.Read();
  EXPECT_THAT(packed.head, HasSubstr("Content-Encoding: gzip"));
  EXPECT_EQ(packed.body.substr(0, 2), "\x1f\x8b");
  const size_t tag = packed.head.find("ETag: ") + 6;
  const std::string etag = packed.head.substr(tag, packed.head.find('\r', tag) - tag);
  client.Get("/v1/jobs/night%2F7/steps",
             "Accept-Encoding: gzip\r\nIf-None-Match: " + etag + "\r\n");
  const auto unchanged = client.Read(false);
  EXPECT_EQ(unchanged.status, 304);
  client.Get("/v1/jobs/night%2F7/steps",
             "If-None-Match: \"other\"\r\nAccept-Encoding: gzip;q=0\r\n");
  const auto plain = client.Read();
  EXPECT_EQ(plain.status, 200);
  EXPECT_THAT(plain.head, Not(HasSubstr("Content-Encoding")));
}

TEST_F(RestServerTest, ConnectionsCloseWhenTheyAreAskedTo) {
  Start({.requests_of_connection = 2});
  RawClient old_style(server_->port());
  old_style.Send("GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(old_style.Read().status, 200);
  EXPECT_TRUE(old_style.IsClosed());
  RawClient many(server_->port());
  many.Get("/healthz");
  EXPECT_THAT(many.Read().head, Not(HasSubstr("Connection: close")));
  many.Get("/healthz");
  EXPECT_THAT(many.Read().head, HasSubstr("Connection: close"));
  EXPECT_TRUE(many.IsClosed());
}

TEST_F(RestServerTest, WhatIsNoRequestIsRefusedAndCloses) {
  Start({.header_bytes = 1'000, .body_bytes = 100});
  EXPECT_EQ(Refused("nonsense\r\n\r\n"), 400);
  EXPECT_EQ(Refused("GET / HTTP/9.9\r\n\r\n"), 400);
  EXPECT_EQ(
      Refused("GET /v1/jobs HTTP/1.1\r\nHost: a\r\nX: " + std::string(2'000, 'x') + "\r\n\r\n"),
      431);
  EXPECT_EQ(Refused("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 101\r\n\r\n"),
            413);
  EXPECT_EQ(Refused("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400);
  EXPECT_EQ(Refused("GET /v1/jobs HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(server_->probe().malformed, 6U);
  RawClient still(server_->port());
  still.Get("/healthz");
  EXPECT_EQ(still.Read().status, 200);
}

TEST_F(RestServerTest, WhoSendsTooSlowlyIsCutOff) {
  Start({.header_time = milliseconds(200), .idle_time = milliseconds(200)});
  RawClient slow(server_->port());
  slow.Send("GET /v1/jobs HTT");
  EXPECT_TRUE(slow.IsClosed());
  while (server_->probe().malformed == 0) std::this_thread::yield();  // counted once it is closed
  RawClient idle(server_->port());
  EXPECT_TRUE(idle.IsClosed());
}

TEST_F(RestServerTest, TheLongestIdleConnectionMakesRoom) {
  Start({.connections = 2});
  RawClient first(server_->port());
  first.Get("/healthz");
  EXPECT_EQ(first.Read().status, 200);
  RawClient second(server_->port());
  second.Get("/healthz");
  EXPECT_EQ(second.Read().status, 200);
  RawClient third(server_->port());
  third.Get("/healthz");
  EXPECT_EQ(third.Read().status, 200);
  EXPECT_TRUE(first.IsClosed());
  second.Get("/healthz");
  EXPECT_EQ(second.Read().status, 200);
  EXPECT_EQ(server_->probe().connections_evicted, 1U);
}

TEST_F(RestServerTest, WhereNoConnectionIsIdleOneMoreIsRefused) {
  Start({.connections = 1});
  RawClient stream(server_->port());
  stream.Get("/v1/findings/stream");
  EXPECT_EQ(stream.Read().status, 200);
  RawClient refused(server_->port());
  EXPECT_EQ(refused.Read().status, 503);
  EXPECT_TRUE(refused.IsClosed());
  EXPECT_EQ(server_->probe().connections_refused, 1U);
}

TEST_F(RestServerTest, FindingsAreStreamedAsTheyChange) {
  Start({.event_heartbeat = milliseconds(50)});
  RawClient client(server_->port());
  client.Get("/v1/findings/stream?severity=minor");
  EXPECT_THAT(client.Read().head, HasSubstr("text/event-stream"));
  EXPECT_THAT(client.ReadUntil("still here"), Not(HasSubstr("finding")));
  job_.AddFinding("11111111111111111111111111111111", 4);
  const std::string event = client.ReadUntil("}\n\n");
  EXPECT_THAT(event, HasSubstr("event: finding\nid: 0:5\ndata: {\"id\":\"1111"));
}

TEST_F(RestServerTest, AChangeWakesTheStreamsThatWait) {
  Start({.event_heartbeat = std::chrono::hours(1)});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_->port()));
    clients.back()->Get("/v1/findings/stream");
    EXPECT_EQ(clients.back()->Read().status, 200);
  }
  EXPECT_EQ(server_->probe().event_streams_open, 3U);
  for (const char* id : {"11111111111111111111111111111111", "22222222222222222222222222222222"}) {
    job_.AddFinding(id, 4);
    for (const auto& client : clients) EXPECT_THAT(client->ReadUntil("}\n\n"), HasSubstr(id));
  }
}

TEST_F(RestServerTest, AStreamGoesOnBehindTheLastEvent) {
  Start();
  job_.AddFinding("11111111111111111111111111111111", 4);
  RawClient client(server_->port());
  client.Get("/v1/findings/stream", "Last-Event-ID: 0:1\r\n");
  const std::string events = client.ReadUntil("}\n\n");
  EXPECT_THAT(events, HasSubstr("\"1111"));
  EXPECT_THAT(events, Not(HasSubstr("\"0123")));
  RawClient wrong(server_->port());
  wrong.Get("/v1/findings/stream", "Last-Event-ID: nonsense\r\n");
  EXPECT_EQ(wrong.Read().status, 400);
}

TEST_F(RestServerTest, StopsWithStreamsAndIdleConnectionsOpen) {
  Start();
  RawClient stream(server_->port());
  stream.Get("/v1/findings/stream");
  EXPECT_EQ(stream.Read().status, 200);
  RawClient idle(server_->port());
  idle.Get("/healthz");
  EXPECT_EQ(idle.Read().status, 200);
  server_ = nullptr;
  EXPECT_TRUE(idle.IsClosed());
  EXPECT_TRUE(stream.IsClosed());
}

TEST_F(RestServerTest, AnAddressThatIsTakenIsSaid) {
  Start();
  const auto second =
      RestServer::Start(service_, {.port = server_->port(), .tls = {}, .limits = {}});
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  const auto nowhere = RestServer::Start(service_, {.address = "nowhere", .tls = {}, .limits = {}});
  EXPECT_TRUE(absl::IsInvalidArgument(nowhere.status()));
  const auto no_key = RestServer::Start(
      service_, {.tls = TlsFiles{.certificate = "/none", .key = "/none"}, .limits = {}});
  EXPECT_TRUE(absl::IsInvalidArgument(no_key.status()));
}

}  // namespace
}  // namespace eroica

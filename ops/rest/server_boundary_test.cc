// Throws at the boundaries of ops/rest/server.cc that no request reaches: no memory is left where
// a server ends, where a finding changes, and where its streams are to be woken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "ops/rest/server.h"
#include "ops/rest/testing/raw_client.h"
#include "ops/rest/testing/shown_job.h"
#include "schemas/testing/failing_new.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

class ServerBoundaryTest : public ::testing::Test {
 protected:
  ServerBoundaryTest() {
    RestSources sources = job_.sources();
    sources.findings = &findings_;
    service_ = std::make_unique<RestService>(sources, GateOptions{.tokens = {}, .hosts = {}});
    server_ = *RestServer::Start(
        *service_, {.tls = {}, .peers = {}, .limits = {.event_heartbeat = std::chrono::hours(1)}});
  }
  // A stream that waits for the next change.
  std::unique_ptr<RawClient> OpenStream() {
    auto client = std::make_unique<RawClient>(server_->port());
    client->Get("/v1/findings/stream");
    EXPECT_EQ(client->Read().status, 200);
    return client;
  }
  void AddFinding() {
    PublishedFinding published{
        .finding = {}, .partition = 0, .offset = 0, .timestamp_ms = 1'700'000'000'000};
    published.finding.id = "11111111111111111111111111111111";
    published.finding.job = JobId("night/7");
    published.finding.severity = Severity::kMajor;
    findings_.Add(published);
  }

  ShownJob job_;
  FindingIndex findings_{1'000'000};
  std::unique_ptr<RestService> service_;
  std::unique_ptr<RestServer> server_;
};

TEST_F(ServerBoundaryTest, EndsWhereNothingCanBePosted) {
  const auto stream = OpenStream();
  int64_t failed = 0;
  {
    // Not for good: Asio itself needs memory where it destroys a coroutine that waits.
    const FailingNew no_memory(FailingNew::Where::kThisThread, 0, 1);
    server_ = nullptr;
    failed = no_memory.failed();
  }
  EXPECT_EQ(failed, 1);
  EXPECT_TRUE(stream->IsClosed());
}

TEST_F(ServerBoundaryTest, AChangeThatCannotBePostedLeavesTheNextOneToWakeTheStreams) {
  const auto stream = OpenStream();
  {
    const FailingNew no_memory(FailingNew::Where::kThisThread);
    findings_.SetCaughtUp();
  }
  EXPECT_EQ(server_->probe().exceptions, 1U);
  AddFinding();
  EXPECT_THAT(stream->ReadUntil("}\n\n"), HasSubstr("\"1111"));
}

TEST_F(ServerBoundaryTest, AWakingThatFailsLeavesTheNextChangeToWakeTheStreams) {
  const auto before = OpenStream();
  {
    // Asio takes the timer's memory from what it has freed, where that is enough; and the stream,
    // if it does not wait yet, may be what fails. Mostly it is the waking.
    const FailingNew no_memory(FailingNew::Where::kOtherThreads, 0, 1);
    findings_.SetCaughtUp();
    for (int looks = 0; looks < 100'000 && no_memory.failed() == 0; ++looks)
      std::this_thread::yield();
  }
  const auto after = OpenStream();
  AddFinding();
  EXPECT_THAT(after->ReadUntil("}\n\n"), HasSubstr("\"1111"));
}

}  // namespace
}  // namespace eroica

// A program that asks a node: what it gets, and which words say why it gets nothing.
#include "ops/rest/node_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "ops/rest/testing/certificate.h"
#include "ops/rest/testing/shown_job.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

bool GoesOn() { return true; }

class NodeClientTest : public ::testing::Test {
 protected:
  void Serve(GateOptions gate, std::optional<TlsFiles> tls = std::nullopt) {
    service_ = std::make_unique<RestService>(job_.sources(), std::move(gate));
    server_ = *RestServer::Start(*service_, {.tls = std::move(tls), .peers = {}, .limits = {}});
  }
  absl::StatusOr<std::string> Get(const std::string& target, const PeerOptions& options = {}) {
    return NodeClient(server_->url(), options, GoesOn).Get(target);
  }

  ShownJob job_;
  std::unique_ptr<RestService> service_;
  std::unique_ptr<RestServer> server_;
};

TEST_F(NodeClientTest, GetsTheBody) {
  Serve({.tokens = {}, .hosts = {}});
  const absl::StatusOr<std::string> body = Get("/v1/jobs");
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(nlohmann::json::parse(*body)["jobs"][0]["job"], "night/7");
}

TEST_F(NodeClientTest, AnErrorIsReportedInTheNodesWords) {
  Serve({.tokens = {}, .hosts = {}});
  const absl::Status unknown = Get("/v1/jobs/none").status();
  EXPECT_TRUE(absl::IsNotFound(unknown)) << unknown;
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("none"));
  EXPECT_TRUE(absl::IsInvalidArgument(Get("/v1/jobs?limit=x").status()));
}

TEST_F(NodeClientTest, ATokenOpensWhatIsClosed) {
  const NewToken token = *MakeToken("top", {.read = true});
  Serve({.tokens = *TokenTable::Parse(token.line, "t"), .hosts = {}});
  EXPECT_TRUE(absl::IsUnauthenticated(Get("/v1/jobs").status()));
  EXPECT_TRUE(Get("/v1/jobs", {.token = token.token, .ca_certificate = {}}).ok());
}

TEST_F(NodeClientTest, HttpsIsBelievedByItsAuthorityAlone) {
  const ScratchDirectory folder;
  const CertificateFiles files = MakeCertificate(folder.path());
  Serve({.tokens = {}, .hosts = {}}, TlsFiles{.certificate = files.certificate, .key = files.key});
  EXPECT_TRUE(Get("/v1/jobs", {.token = {}, .ca_certificate = files.certificate}).ok());
  EXPECT_TRUE(absl::IsUnavailable(Get("/v1/jobs").status()));
  const absl::Status missing =
      Get("/v1/jobs", {.token = {}, .ca_certificate = folder.path() + "/none"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(missing)) << missing;
}

TEST_F(NodeClientTest, WhoeverDoesNotAnswerIsUnavailable) {
  Serve({.tokens = {}, .hosts = {}});
  const std::string url = server_->url();
  server_ = nullptr;
  EXPECT_TRUE(absl::IsUnavailable(NodeClient(url, {}, GoesOn).Get("/v1/jobs").status()));
  const absl::Status no_url = NodeClient("127.0.0.1:8470", {}, GoesOn).Get("/").status();
  EXPECT_TRUE(absl::IsInvalidArgument(no_url));
  EXPECT_THAT(std::string(no_url.message()), HasSubstr("http://HOST:PORT"));
}

TEST_F(NodeClientTest, WhatIsNoLongerWantedIsNotWaitedFor) {
  Serve({.tokens = {}, .hosts = {}});
  const NodeClient client(server_->url(), {}, [] { return false; });
  EXPECT_TRUE(absl::IsCancelled(client.Get("/v1/jobs").status()));
}

}  // namespace
}  // namespace eroica

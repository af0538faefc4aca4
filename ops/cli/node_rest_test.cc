#include "ops/cli/node_rest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ops/rest/testing/raw_client.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

class NodeRestTest : public ::testing::Test {
 protected:
  NodeRestTest() {
    config_.node.recording = folder_.path() + "/recording";
    config_.rest.listen = "127.0.0.1:0";
  }
  std::string Refused() {
    const auto rest = NodeRest::Open(config_, log_);
    EXPECT_FALSE(rest.ok());
    return std::string(rest.status().message());
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  absl::StatusOr<std::unique_ptr<NodeRest>> Start() {
    auto rest = NodeRest::Open(config_, log_);
    if (!rest.ok()) return rest;
    store_ = *RocksDbStore::Open({.folder = folder_.path() + "/state"});
    const absl::Status status =
        (*rest)->Start({.stages = [] { return std::map<std::string, StageProbe>(); },
                        .health = &health_,
                        .store = store_.get()});
    if (!status.ok()) return status;
    return rest;
  }
  static uint16_t PortOf(const std::string& url) {
    return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }

  const ScratchDirectory folder_;
  MemoryLog log_;
  NodeConfig config_;
  NodeHealth health_{{}, {}};
  std::unique_ptr<RocksDbStore> store_;
};

TEST_F(NodeRestTest, AnAddressOfTheNetworkNeedsATokenFileOrTheWord) {
  config_.rest.listen = "0.0.0.0:0";
  EXPECT_THAT(Refused(), HasSubstr("rest.network_without_token"));
  config_.rest.network_without_token = true;
  EXPECT_TRUE(NodeRest::Open(config_, log_).ok());
  config_.rest.network_without_token = false;
  config_.rest.token_file = "tokens";
  EXPECT_TRUE(NodeRest::Open(config_, log_).ok());
}

TEST_F(NodeRestTest, WhatCannotBeIsSaidBeforeTheNodeStarts) {
  config_.rest.listen = "everywhere";
  EXPECT_THAT(Refused(), HasSubstr("ADDRESS:PORT"));
  config_.rest.listen = "127.0.0.1:0";
  config_.rest.tls_key = "key.pem";
  EXPECT_THAT(Refused(), HasSubstr("rest.tls_certificate"));
}

TEST_F(NodeRestTest, OffIsNoServerAndNoBoard) {
  config_.rest.listen = "off";
  const auto rest = Start();
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ((*rest)->board(), nullptr);
  EXPECT_EQ((*rest)->url(), "");
}

TEST_F(NodeRestTest, AnswersMetricsAndStatusToWhoHasAToken) {
  const NewToken made = *MakeToken("me", {.read = true});
  Write("tokens", made.line + "\n");
  config_.rest.token_file = folder_.path() + "/tokens";
  const auto rest = Start();
  ASSERT_TRUE(rest.ok()) << rest.status();
  RawClient client(PortOf((*rest)->url()));
  client.Get("/metrics");
  EXPECT_EQ(client.Read().status, 401);
  client.Get("/metrics", "Authorization: Bearer " + made.token + "\r\n");
  EXPECT_THAT(client.Read().body, HasSubstr("eroica_state_memory_bytes{part=\"cache\"}"));
  client.Get("/");
  EXPECT_EQ(client.Read().status, 200);
  (*rest)->Stop();
}

TEST_F(NodeRestTest, TheDefaultPortGivesWayAndAnotherThatIsTakenIsAnError) {
  config_.rest.listen = "";
  const auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status();
  store_ = nullptr;
  const auto second = Start();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE((*first)->url(), (*second)->url());
  config_.rest.listen = "127.0.0.1:" + std::to_string(PortOf((*first)->url()));
  store_ = nullptr;
  const auto third = Start();
  EXPECT_TRUE(absl::IsUnavailable(third.status())) << third.status();
  EXPECT_THAT(std::string(third.status().message()), HasSubstr("rest.listen"));
  (*second)->Stop();
  (*first)->Stop();
}

TEST_F(NodeRestTest, ABrokenTokenFileStopsTheStart) {
  Write("tokens", "me read nothash\n");
  config_.rest.token_file = folder_.path() + "/tokens";
  EXPECT_THAT(std::string(Start().status().message()), HasSubstr("tokens:1"));
  config_.rest.token_file = folder_.path() + "/none";
  store_ = nullptr;
  EXPECT_TRUE(absl::IsNotFound(Start().status()));
}

}  // namespace
}  // namespace eroica

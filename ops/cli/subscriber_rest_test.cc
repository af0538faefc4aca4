#include "ops/cli/subscriber_rest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ops/rest/testing/raw_client.h"
#include "ops/rest/tokens.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class SubscriberRestTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<SubscriberRest>> Start(const std::string& listen) {
    return SubscriberRest::Start(
        config_,
        {.option = "alerts.listen",
         .listen = listen,
         .reasons = [this] { return reasons_; },
         .metrics = [](const SubscriberProgram& program) { return "of " + program.version; }});
  }
  static RawClient::Response Ask(const SubscriberRest& rest, const std::string& target,
                                 const std::string& headers = "") {
    const std::string url = rest.url();
    RawClient client(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    EXPECT_TRUE(client.Get(target, headers));
    return client.Read();
  }
  std::string Refused(const std::string& listen) {
    const auto rest = Start(listen);
    EXPECT_FALSE(rest.ok());
    return std::string(rest.status().message());
  }

  const ScratchDirectory folder_;
  NodeConfig config_;
  std::vector<std::string> reasons_;
};

TEST_F(SubscriberRestTest, NothingListensWithoutAnAddress) {
  const auto rest = Start("");
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ((*rest)->url(), "");
}

TEST_F(SubscriberRestTest, AnswersItsHealthAndItsMetricsAndKnowsNoJobs) {
  const auto rest = Start("127.0.0.1:0");
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_THAT(Ask(**rest, "/metrics").body, MatchesRegex("of [0-9.]+"));
  EXPECT_THAT(Ask(**rest, "/healthz").body, HasSubstr("\"healthy\":true"));
  reasons_ = {"am:9093 does not take what is sent"};
  const RawClient::Response ill = Ask(**rest, "/healthz");
  EXPECT_EQ(ill.status, 200) << "a new start would not help";
  EXPECT_THAT(ill.body, HasSubstr("am:9093 does not take what is sent"));
  for (const char* target : {"/", "/v1/jobs", "/v1/jobs/a", "/v1/findings", "/v1/findings/stream",
                             "/readyz", "/v1/status"})
    EXPECT_EQ(Ask(**rest, target).status, 404) << target;
  EXPECT_THAT(Ask(**rest, "/v1/jobs").body, HasSubstr("there are /healthz and /metrics"));
}

TEST_F(SubscriberRestTest, AnAddressOfTheNetworkNeedsATokenFileOrTheWord) {
  EXPECT_THAT(Refused("0.0.0.0:0"), HasSubstr("alerts.listen = \"0.0.0.0:0\" would let everybody"));
  EXPECT_THAT(Refused("nowhere"), HasSubstr("alerts.listen: "));
  config_.rest.network_without_token = true;
  EXPECT_TRUE(Start("0.0.0.0:0").ok());
}

TEST_F(SubscriberRestTest, MetricsNeedAToken) {
  const NewToken made = *MakeToken("prometheus", {.read = true});
  config_.rest.token_file = folder_.path() + "/tokens";
  std::ofstream(config_.rest.token_file) << made.line << "\n";
  const auto rest = Start("127.0.0.1:0");
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(Ask(**rest, "/healthz").status, 200);
  EXPECT_EQ(Ask(**rest, "/metrics").status, 401);
  EXPECT_EQ(Ask(**rest, "/metrics", "Authorization: Bearer " + made.token + "\r\n").status, 200);
}

}  // namespace
}  // namespace eroica

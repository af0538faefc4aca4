#include "ops/alerts/webhook_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The example of the Standard Webhooks specification's libraries.
TEST(WebhookSignature, IsThatOfTheStandard) {
  const auto key = WebhookKey::FromSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(key->Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, DependsOnEveryPart) {
  const auto key = WebhookKey::FromSecret("sixteen bytes!!!");
  ASSERT_TRUE(key.ok());
  const std::string signature = key->Sign("id", 1, "body");
  EXPECT_NE(key->Sign("id2", 1, "body"), signature);
  EXPECT_NE(key->Sign("id", 2, "body"), signature);
  EXPECT_NE(key->Sign("id", 1, "body "), signature);
  EXPECT_NE(WebhookKey::FromSecret("sixteen bytes???")->Sign("id", 1, "body"), signature);
}

TEST(WebhookSignature, ASecretThatCannotBeIsRefusedWithoutShowingIt) {
  for (const std::string secret : {"", "short", "whsec_!!!", "whsec_c2hvcnQ="}) {
    const auto key = WebhookKey::FromSecret(secret);
    ASSERT_TRUE(absl::IsInvalidArgument(key.status())) << secret;
    if (!secret.empty()) {
      EXPECT_THAT(std::string(key.status().message()), Not(HasSubstr(secret)));
    }
  }
}

}  // namespace
}  // namespace eroica

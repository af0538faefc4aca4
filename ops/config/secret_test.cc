#include "ops/config/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(Secret, KnowsWhatMustNotBeShown) {
  for (const char* secret : {"sasl.password", "ssl.key.password", "ssl.keystore.password",
                             "sasl.oauthbearer.client.secret", "ssl.key.pem"}) {
    EXPECT_TRUE(IsSecretProperty(secret)) << secret;
  }
  for (const char* open : {"security.protocol", "sasl.username", "ssl.ca.location"})
    EXPECT_FALSE(IsSecretProperty(open)) << open;
}

TEST(Secret, ComesFromAFileWithoutItsLineEnd) {
  const std::string path = ::testing::TempDir() + "eroica_secret_test.txt";
  std::ofstream(path) << "hunter2\r\n";
  NodeConfig config;
  config.kafka.properties = {{"sasl.password_file", path}, {"sasl.username", "eroica"}};
  ASSERT_TRUE(ResolveSecrets(&config).ok());
  EXPECT_THAT(config.kafka.properties,
              ElementsAre(Pair("sasl.password", "hunter2"), Pair("sasl.username", "eroica")));
}

TEST(Secret, ComesFromTheEnvironment) {
  ASSERT_EQ(setenv("EROICA_SECRET_TEST", "hunter2", 1), 0);
  NodeConfig config;
  config.kafka.properties = {{"sasl.password_env", "EROICA_SECRET_TEST"}};
  ASSERT_TRUE(ResolveSecrets(&config).ok());
  EXPECT_THAT(config.kafka.properties, ElementsAre(Pair("sasl.password", "hunter2")));
}

TEST(Secret, MustNotStandInTheConfiguration) {
  NodeConfig config;
  config.kafka.properties = {{"sasl.password", "hunter2"}};
  const absl::Status status = ResolveSecrets(&config);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("sasl.password_file"), Not(HasSubstr("hunter2"))));
}

TEST(Secret, MissingFileOrVariableIsNamed) {
  NodeConfig config;
  config.kafka.properties = {{"sasl.password_file", "no/such/file"}};
  EXPECT_THAT(std::string(ResolveSecrets(&config).message()), HasSubstr("no/such/file"));
  config.kafka.properties = {{"sasl.password_env", "EROICA_NO_SUCH_VARIABLE"}};
  EXPECT_THAT(std::string(ResolveSecrets(&config).message()), HasSubstr("EROICA_NO_SUCH_VARIABLE"));
}

}  // namespace
}  // namespace eroica

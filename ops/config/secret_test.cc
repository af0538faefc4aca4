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
  config.kafka.properties = {{"sasl.password_file", "/no/such/file"}};
  EXPECT_THAT(std::string(ResolveSecrets(&config).message()), HasSubstr("/no/such/file"));
  config.kafka.properties = {{"sasl.password_env", "EROICA_NO_SUCH_VARIABLE"}};
  EXPECT_THAT(std::string(ResolveSecrets(&config).message()), HasSubstr("EROICA_NO_SUCH_VARIABLE"));
}

TEST(Secret, TheValueOfAMistypedNameIsNotShown) {
  for (const char* name : {"sasl.pasword", "ssl.key.pass", "sasl.oauthbearer.client.secert", "pwd",
                           "ssl.certificate.pem", "sasl.password"})
    EXPECT_FALSE(MayShow(name, "hunter2")) << name;
  for (const char* name :
       {"security.protocol", "session.timeout.ms", "ssl.ca.location", "sasl.username", "client.id"})
    EXPECT_TRUE(MayShow(name, "value")) << name;
}

// Whoever writes the secret where its file or variable is asked for does not find it in a log.
TEST(Secret, ASecretInPlaceOfItsFileOrVariableIsNotShown) {
  for (const char* secret : {"hunter2", "aGVsbG8/d29ybGQ=", "hello world", "S3CR3T"}) {
    for (const char* entry : {"sasl.password_file", "sasl.password_env"}) {
      EXPECT_FALSE(MayShow(entry, secret)) << secret;
      NodeConfig config;
      config.kafka.properties = {{entry, secret}};
      const absl::Status status = ResolveSecrets(&config);
      EXPECT_TRUE(absl::IsNotFound(status)) << status;
      EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(entry), Not(HasSubstr(secret))));
    }
  }
  EXPECT_TRUE(MayShow("sasl.password_file", "/etc/eroica/password"));
  EXPECT_TRUE(MayShow("sasl.password_file", "password.txt"));
  EXPECT_TRUE(MayShow("sasl.password_env", "KAFKA_PASSWORD"));
}

}  // namespace
}  // namespace eroica

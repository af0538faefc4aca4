// TLS and SASL against real brokers (ops/kafka/secure.sh): who may come in does, who may not hears
// why, and no secret is shown anywhere. SCRAM is tested against Kafka 3.9.2: librdkafka before
// 2.6.1 cannot log in to Kafka 4 by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "stream_ops/kafka/kafka_log.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using ::testing::Not;

using Properties = std::map<std::string, std::string>;

// Ports behind the broker's first one.
enum Listener { kTls = 2, kMutualTls = 3, kElsewhere = 4, kPlain = 5, kScram = 6 };

class SecureKafkaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SharedBroker()) GTEST_SKIP() << kNoBrokerMessage;
  }
  void Start(const std::string& version) {
    broker_ = std::make_unique<OwnBroker>("--secure", version);
    ASSERT_FALSE(broker_->address().empty());
  }

  std::string File(const std::string& name) const { return broker_->folder() + "/secure/" + name; }
  std::string Secret(const std::string& name) const {
    std::string secret = ReadBytes(File(name));
    EXPECT_EQ(secret.size(), 33u) << name;  // with its line end
    secret.pop_back();
    return secret;
  }
  std::string Address(Listener listener) const {
    const std::string& first = broker_->address();
    const size_t colon = first.find(':');
    return first.substr(0, colon + 1) +
           std::to_string(std::stoi(first.substr(colon + 1)) + listener);
  }

  Properties Tls() const {
    return {{"security.protocol", "SSL"}, {"ssl.ca.location", File("ca.pem")}};
  }
  Properties MutualTls(const std::string& key_password) const {
    Properties properties = Tls();
    properties["ssl.certificate.location"] = File("client.pem");
    properties["ssl.key.location"] = File("client.key");
    properties["ssl.key.password"] = key_password;
    return properties;
  }
  Properties Sasl(const std::string& mechanism, const std::string& password) const {
    return {{"security.protocol", "SASL_SSL"},
            {"ssl.ca.location", File("ca.pem")},
            {"sasl.mechanisms", mechanism},
            {"sasl.username", "eroica"},
            {"sasl.password", password}};
  }

  // What a client hears that makes a topic, writes to it and reads it.
  absl::Status Use(Listener listener, const Properties& properties) const {
    const auto log = KafkaLog::Open({.bootstrap_servers = Address(listener),
                                     .properties = properties,
                                     .request_timeout = std::chrono::seconds(20)});
    if (!log.ok()) return log.status();
    const std::string topic = UniqueName("secure");
    if (absl::Status status = (*log)->admin().CreateTopic({topic, 1, {}, 1}); !status.ok())
      return status;
    const auto producer = (*log)->NewProducer();
    if (!producer.ok()) return producer.status();
    if (absl::Status status = (*producer)->Append({.topic = topic, .value = "in confidence"});
        !status.ok())
      return status;
    if (absl::Status status = (*producer)->Flush(std::chrono::seconds(20)); !status.ok())
      return status;
    const auto consumer = (*log)->NewConsumer({.group_id = topic});
    if (!consumer.ok()) return consumer.status();
    if (absl::Status status = (*consumer)->Subscribe({topic}, nullptr); !status.ok()) return status;
    std::vector<ConsumerRecord> records;
    const absl::Status status = (*consumer)->Poll(std::chrono::seconds(20), 10, &records);
    if (!status.ok()) return status;
    return records.size() == 1 && records[0].value == "in confidence"
               ? absl::OkStatus()
               : absl::DataLossError("the record is not there");
  }

  void ExpectComesIn(Listener listener, const Properties& properties) const {
    const absl::Status status = Use(listener, properties);
    EXPECT_TRUE(status.ok()) << status;
  }
  // why: a part of what is said.
  void ExpectRefused(Listener listener, const Properties& properties, StatusCode code,
                     const std::string& why) const {
    const absl::Status status = Use(listener, properties);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    for (const char* secret : {"password", "client.password"})
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr(Secret(secret))));
  }

  // properties as a file has them: secrets by NAME_file and NAME_env.
  ProgramRun Run(Listener listener, const Properties& properties,
                 std::vector<std::string> arguments) const {
    const std::string config = File("node.toml");
    std::string text = "[kafka]\nbootstrap = \"" + Address(listener) + "\"\n[kafka.properties]\n";
    for (const auto& [name, value] : properties) text += "\"" + name + "\" = \"" + value + "\"\n";
    WriteBytes(config, text);
    arguments.insert(arguments.end(), {"--config", config});
    ProgramRun run = RunProgram(std::move(arguments));
    for (const char* secret : {"password", "client.password"})
      EXPECT_THAT(run.out + run.err, Not(HasSubstr(Secret(secret))));
    return run;
  }

  std::unique_ptr<OwnBroker> broker_;
};

TEST_F(SecureKafkaTest, TlsAndPlainLetInWhoMayAndExplainRefusals) {
  ASSERT_NO_FATAL_FAILURE(Start("4.3.1"));
  const std::string password = Secret("password");
  const std::string key_password = Secret("client.password");

  ExpectComesIn(kTls, Tls());
  ExpectComesIn(kMutualTls, MutualTls(key_password));
  ExpectComesIn(kPlain, Sasl("PLAIN", password));

  Properties unknown_ca = Tls();
  unknown_ca["ssl.ca.location"] = File("other_ca.pem");
  ExpectRefused(kTls, unknown_ca, StatusCode::kPermissionDenied,
                "no certificate authority that is known here");
  ExpectRefused(kElsewhere, Tls(), StatusCode::kPermissionDenied,
                "the certificate is for another host");
  ExpectRefused(kMutualTls, Tls(), StatusCode::kPermissionDenied, "ssl.certificate.location");
  ExpectRefused(kMutualTls, MutualTls("wrong"), StatusCode::kInvalidArgument,
                "is its password right?");
  ExpectRefused(kPlain, Sasl("PLAIN", "wrong"), StatusCode::kPermissionDenied,
                "Invalid username or password");
  ExpectRefused(kPlain, {}, StatusCode::kUnavailable, "what security.protocol says");
  // The broker knows this user, yet this librdkafka is too old for it.
  const absl::Status scram = Use(kScram, Sasl("SCRAM-SHA-256", password));
  EXPECT_TRUE(scram.ok() || scram.message().find("fixed in 2.6.1") != std::string::npos) << scram;
}

TEST_F(SecureKafkaTest, ScramLetsInWhoMayAndExplainsRefusals) {
  ASSERT_NO_FATAL_FAILURE(Start("3.9.2"));
  for (const std::string mechanism : {"SCRAM-SHA-256", "SCRAM-SHA-512"}) {
    ExpectComesIn(kScram, Sasl(mechanism, Secret("password")));
    ExpectRefused(kScram, Sasl(mechanism, "wrong"), StatusCode::kPermissionDenied,
                  "invalid credentials");
  }
  ExpectRefused(kScram, Sasl("PLAIN", Secret("password")), StatusCode::kPermissionDenied,
                "SCRAM-SHA-512");
}

TEST_F(SecureKafkaTest, TheProgramTakesSecretsFromFilesAndTheEnvironmentAndShowsNone) {
  ASSERT_NO_FATAL_FAILURE(Start("4.3.1"));
  ASSERT_EQ(::setenv("EROICA_TEST_KEY_PASSWORD", Secret("client.password").c_str(), 1), 0);
  ASSERT_EQ(::setenv("EROICA_TEST_WRONG", Secret("client.password").c_str(), 1), 0);
  Properties mutual = MutualTls("");
  mutual.erase("ssl.key.password");
  mutual["ssl.key.password_env"] = "EROICA_TEST_KEY_PASSWORD";
  Properties plain = Sasl("PLAIN", "");
  plain.erase("sasl.password");
  Properties wrong = plain;
  wrong["sasl.password_env"] = "EROICA_TEST_WRONG";
  plain["sasl.password_file"] = File("password");
  plain["debug"] = "security,broker,protocol";  // librdkafka's own log, too, is silent about it

  const ProgramRun created = Run(kMutualTls, mutual, {"topics", "create"});
  EXPECT_EQ(created.exit_code, kExitNothingFound) << created.err;
  const ProgramRun drained =
      Run(kPlain, plain,
          {"node", "--drain", "--state", File("state"), "--set", "node.log_level=debug"});
  EXPECT_EQ(drained.exit_code, kExitNothingFound) << drained.err;
  EXPECT_THAT(drained.err, HasSubstr("node: healthy"));
  EXPECT_EQ(Run(kMutualTls, mutual, {"findings"}).exit_code, kExitCannotTell)
      << "it has read, and there is no job";

  const ProgramRun refused = Run(kPlain, wrong, {"findings"});
  EXPECT_EQ(refused.exit_code, kExitError);
  EXPECT_THAT(refused.err, HasSubstr("Invalid username or password"));
  const ProgramRun config = Run(kPlain, plain, {"node", "--print-config"});
  EXPECT_THAT(config.out, HasSubstr("sasl.password_file"));
  plain["sasl.password"] = "in the configuration";
  const ProgramRun written = Run(kPlain, plain, {"topics", "check"});
  EXPECT_EQ(written.exit_code, kExitError);
  EXPECT_THAT(written.err, HasSubstr("must not stand in the configuration"));
}

// The ranks and the reader of their findings have one variable.
TEST_F(SecureKafkaTest, ARunSendsAndReadsWithTheRanksCredentials) {
  ASSERT_NO_FATAL_FAILURE(Start("4.3.1"));
  const std::string password_file = File("password");
  Properties plain = Sasl("PLAIN", "");
  plain.erase("sasl.password");
  std::string variable = "sasl.password_file=" + password_file;
  for (const auto& [name, value] : plain) variable += ";" + name + "=" + value;
  Properties in_file = plain;
  in_file["sasl.password_file"] = password_file;
  ASSERT_EQ(Run(kPlain, in_file, {"topics", "create"}).exit_code, kExitNothingFound);
  const auto run = [&](const std::string& kafka) {
    EXPECT_EQ(::setenv("EROICA_KAFKA", kafka.c_str(), 1), 0);
    return RunProgram({"run", "--kafka", Address(kPlain), "--", "/bin/sleep", "2"});
  };
  const ProgramRun known = run(variable);
  EXPECT_EQ(known.exit_code, 0);
  EXPECT_THAT(known.err, HasSubstr("no node has run over")) << "it has read the topics";
  EXPECT_THAT(known.err, Not(HasSubstr(Secret("password"))));
  EXPECT_THAT(run(variable + ";sasl.username=nobody").err, HasSubstr("Invalid username"));
  ASSERT_EQ(::unsetenv("EROICA_KAFKA"), 0);
}

// A connection that breaks, be it in its handshake, is no refusal: a node waits.
TEST_F(SecureKafkaTest, ARestartUnderTlsIsWaitedFor) {
  ASSERT_NO_FATAL_FAILURE(Start("4.3.1"));
  const auto log = KafkaLog::Open({.bootstrap_servers = Address(kTls), .properties = Tls()});
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE((*log)->admin().CreateTopic({"t", 1, {}, 1}).ok());
  const auto consumer = (*log)->NewConsumer({});
  ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
  std::vector<ConsumerRecord> records;
  const auto poll = [&] {
    const absl::Status status = (*consumer)->Poll(std::chrono::milliseconds(200), 10, &records);
    EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    return status;
  };
  EXPECT_TRUE(poll().ok());
  broker_->Kill();
  while (poll().ok()) {
  }
  ASSERT_TRUE(broker_->Restart());
  const auto producer = (*log)->NewProducer();
  ASSERT_TRUE((*producer)->Append({.topic = "t", .value = "after"}).ok());
  ASSERT_TRUE((*producer)->Flush(std::chrono::seconds(60)).ok());
  while (records.empty()) static_cast<void>(poll());
  EXPECT_EQ(records[0].value, "after");
}

}  // namespace
}  // namespace eroica

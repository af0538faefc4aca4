// `eroica alert` and `eroica act` over a real broker: what a group has handled is kept there, and
// what is done stands in the audit topic, which all of them read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ops/alerts/testing/receiver.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "ops/findings/testing/findings_topic.h"
#include "stream_ops/kafka/kafka_log.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

class AlertActKafkaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SharedBroker()) GTEST_SKIP() << kNoBrokerMessage;
    broker_ = std::make_unique<OwnBroker>();
    ASSERT_FALSE(broker_->address().empty());
    const ProgramRun created = RunProgram({"topics", "create", "--bootstrap", broker_->address()});
    ASSERT_EQ(created.exit_code, kExitNothingFound) << created.err;
    log_ = *KafkaLog::Open({.bootstrap_servers = broker_->address()});
    topic_ = std::make_unique<FindingsTopic>(*log_);
    WriteBytes(folder_.path() + "/act.toml",
               "[limits]\ncool_down_s = 0\nper_job_hour = 100\nper_host_hour = 100\nper_hour = "
               "100\nexecutables = [\"/bin/sh\"]\n[[action]]\nname = \"mark\"\ndoes = "
               "\"run_command\"\ncommand = [\"/bin/sh\", \"-c\", \"echo $1 >> " +
                   Marks() +
                   "\", \"mark\", \"{rank}\"]\n[[rule]]\nname = \"slow\"\naction = \"mark\"\n"
                   "quorum = [1, 1]\n");
  }

  // Those that were killed are forgotten by their groups after this.
  static void AddSession(std::vector<std::string>* arguments) {
    for (const char* property : {"session.timeout.ms\"=\"6000", "heartbeat.interval.ms\"=\"500"}) {
      arguments->emplace_back("--set");
      arguments->push_back("kafka.properties={\"" + std::string(property) + "\"}");
    }
  }
  std::unique_ptr<Program> Start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, {"--bootstrap", broker_->address()});
    AddSession(&arguments);
    return std::make_unique<Program>(arguments);
  }
  std::unique_ptr<Program> StartAct(const std::string& journal) {
    return Start({"act", "--policy", folder_.path() + "/act.toml", "--execute", "--journal",
                  folder_.path() + "/" + journal});
  }
  std::string Marks() const { return folder_.path() + "/marks"; }
  void Publish(const std::string& id, int32_t rank) {
    Finding finding = FindingOf(id, FindingState::kOpened);
    finding.kind = FindingKind::kSlowRank;
    finding.subkind = "function";
    finding.confidence = 0.97;
    finding.caveats.clear();
    finding.culprits = {{.rank = rank, .host = "node1"}};
    finding.emitted_at_ns = std::chrono::system_clock::now().time_since_epoch().count();
    topic_->Publish(finding);
  }

  const ScratchDirectory folder_;
  std::unique_ptr<OwnBroker> broker_;
  std::unique_ptr<KafkaLog> log_;
  std::unique_ptr<FindingsTopic> topic_;
  Receiver receiver_;
};

TEST_F(AlertActKafkaTest, AWebhookIsToldOverKillsOfTheProgramAndOfTheBroker) {
  const std::vector<std::string> arguments = {"alert", "--set",
                                              "alerts.webhook_url=" + receiver_.url("/hook")};
  auto program = Start(arguments);
  Publish("a", 1);
  ASSERT_TRUE(Await([&] { return receiver_.posts().size() == 1; })) << program->ErrSoFar();
  broker_->Kill();
  ASSERT_TRUE(broker_->Restart());
  Publish("b", 1);
  ASSERT_TRUE(Await([&] { return receiver_.posts().size() == 2; })) << program->ErrSoFar();
  Publish("c", 1);
  ASSERT_TRUE(Await([&] { return receiver_.posts().size() == 3; })) << program->ErrSoFar();
  program = nullptr;  // kill -9
  Publish("d", 1);
  program = Start(arguments);
  ASSERT_TRUE(Await([&] { return receiver_.posts().back().Header("ce-subject").ends_with("/d"); }))
      << program->ErrSoFar();
  EXPECT_LE(receiver_.posts().size(), 5U) << "c may come twice, a and b may not";
}

TEST_F(AlertActKafkaTest, WhatOneHasDoneNoOtherDoesAgain) {
  Publish("a", 3);
  auto first = StartAct("first.jsonl");
  ASSERT_TRUE(Await([&] { return ReadBytes(Marks()) == "3\n"; })) << first->ErrSoFar();
  first = nullptr;  // kill -9, before or after its commit
  Publish("a", 3);
  Publish("b", 4);
  auto second = StartAct("second.jsonl");  // that knows the first one's journal from the topic only
  ASSERT_TRUE(Await([&] { return ReadBytes(Marks()) == "3\n4\n"; }))
      << ReadBytes(Marks()) << second->ErrSoFar();
  EXPECT_THAT(ReadBytes(folder_.path() + "/second.jsonl"),
              HasSubstr("something has been done about it before"));
}

}  // namespace
}  // namespace eroica

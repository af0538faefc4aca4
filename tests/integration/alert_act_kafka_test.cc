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

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

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
  std::unique_ptr<Program> StartAlert() {
    return Start({"alert", "--set", "alerts.webhook_url=" + receiver_.url("/hook")});
  }
  // How many of the findings the webhook's group has done with; 0 while the broker is away.
  int64_t AlertsCommitted() {
    const TopicPartition partition{"eroica.findings", 0};
    const auto committed = log_->admin().DescribeGroup("eroica-alert-webhook", partition.topic);
    return committed.ok() && committed->contains(partition) ? committed->at(partition).next : 0;
  }
  std::vector<std::string> WebhookIdsOf(const std::string& finding) const {
    std::vector<std::string> ids;
    for (const ReceivedPost& post : receiver_.posts()) {
      if (post.Header("ce-subject").ends_with("/" + finding))
        ids.push_back(post.Header("webhook-id"));
    }
    return ids;
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

TEST_F(AlertActKafkaTest, WhatIsCommittedComesOnceOverKillsOfTheProgramAndOfTheBroker) {
  auto program = StartAlert();
  Publish("a", 1);
  ASSERT_TRUE(Await([&] { return AlertsCommitted() == 1; })) << program->ErrSoFar();
  broker_->Kill();
  ASSERT_TRUE(broker_->Restart());
  Publish("b", 1);
  ASSERT_TRUE(Await([&] { return AlertsCommitted() == 2; })) << program->ErrSoFar();
  Publish("c", 1);
  ASSERT_TRUE(Await([&] { return !WebhookIdsOf("c").empty(); })) << program->ErrSoFar();
  program = nullptr;  // kill -9, before or after the commit of c
  Publish("d", 1);
  program = StartAlert();
  ASSERT_TRUE(Await([&] { return !WebhookIdsOf("d").empty(); })) << program->ErrSoFar();
  for (const char* once : {"a", "d"}) EXPECT_THAT(WebhookIdsOf(once), SizeIs(1)) << once;
  // The group may have given the member up while the broker was away, and refused b's first commit.
  for (const char* twice : {"b", "c"}) {
    EXPECT_THAT(WebhookIdsOf(twice), SizeIs(Le(2))) << twice;
    EXPECT_THAT(WebhookIdsOf(twice), Each(WebhookIdsOf(twice)[0])) << twice;
  }
}

TEST_F(AlertActKafkaTest, WhatABrokersDeathKeptFromItsCommitComesAgainUnderTheSameId) {
  receiver_.BeforeNextAnswer([&] { broker_->Kill(); });
  auto program = StartAlert();
  Publish("a", 1);
  ASSERT_TRUE(Await([&] { return !WebhookIdsOf("a").empty(); })) << program->ErrSoFar();
  program = nullptr;  // kill -9
  ASSERT_TRUE(broker_->Restart());
  Publish("b", 1);
  program = StartAlert();
  ASSERT_TRUE(Await([&] { return !WebhookIdsOf("b").empty(); })) << program->ErrSoFar();
  EXPECT_THAT(WebhookIdsOf("a"), SizeIs(2));
  EXPECT_THAT(WebhookIdsOf("a"), Each(WebhookIdsOf("a")[0]));
  EXPECT_THAT(WebhookIdsOf("b"), SizeIs(1));
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

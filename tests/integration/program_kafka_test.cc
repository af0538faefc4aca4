// The program against a real broker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "ops/cli/diagnosed_lines.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/topics.h"
#include "tests/evaluation/lab/lab_run.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

// Chrome traces of an old incident: a simulated job, whose clock begins with the year 2026.
std::string TracesOfASlowDevice(const ScratchDirectory& folder) {
  const std::string traces = folder.path() + "/traces";
  const ProgramRun simulated =
      RunLab({"simulate", "tests/scenarios/dev/gpu_slow_dp_8r.toml", "--chrome", traces});
  EXPECT_EQ(simulated.exit_code, kExitNothingFound) << simulated.err;
  return traces;
}

class ProgramKafkaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::string> broker = SharedBroker();
    if (!broker) GTEST_SKIP() << kNoBrokerMessage;
    broker_ = *broker;
  }

  ProgramRun Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--bootstrap", broker_, "--topic-prefix", prefix_});
    return RunProgram(std::move(arguments));
  }

  std::string broker_;
  const std::string prefix_ = UniqueName("program");
};

TEST_F(ProgramKafkaTest, TopicsAreMissingThenCreatedThenAsPlanned) {
  const ProgramRun missing = Run({"topics", "check"});
  EXPECT_EQ(missing.exit_code, kExitError);
  EXPECT_THAT(missing.out, HasSubstr("there is no such topic"));
  EXPECT_EQ(Run({"topics", "create"}).exit_code, kExitNothingFound);
  const ProgramRun check = Run({"topics", "check"});
  EXPECT_EQ(check.exit_code, kExitNothingFound) << check.out << check.err;
  const ProgramRun different = Run({"topics", "check", "--set", "topics.events_partitions=3",
                                    "--set", "topics.findings_retention_ms=60000"});
  EXPECT_EQ(different.exit_code, kExitError);
  EXPECT_THAT(different.out, HasSubstr("the configuration says 3"));
  EXPECT_THAT(different.out, HasSubstr("retention.ms"));
}

TEST_F(ProgramKafkaTest, TooManyCopiesForTheClusterIsAnError) {
  const ProgramRun run = Run({"topics", "create", "--set", "topics.replication=3"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr(prefix_ + ".events"));
}

TEST_F(ProgramKafkaTest, FindingsOfATopicThatIsNotThereIsAnError) {
  const ProgramRun run = Run({"findings"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr(prefix_ + ".findings"));
}

TEST_F(ProgramKafkaTest, ANodeOverKafkaFindsWhatDiagnoseFinds) {
  const ScratchDirectory folder;
  const std::string traces = TracesOfASlowDevice(folder);
  ASSERT_EQ(Run({"topics", "create"}).exit_code, kExitNothingFound);
  const ProgramRun imported = Run({"import", traces});
  ASSERT_EQ(imported.exit_code, kExitNothingFound) << imported.err;
  const ScratchDirectory state;
  const ProgramRun node = Run({"node", "--drain", "--state", state.path() + "/state"});
  ASSERT_EQ(node.exit_code, kExitNothingFound) << node.err;
  const ProgramRun findings = Run({"findings", "--json"});
  EXPECT_EQ(findings.exit_code, kExitFindings) << imported.err << node.err << findings.err;
  nlohmann::json over_kafka = nlohmann::json::parse(findings.out);  // one line, so one document
  nlohmann::json in_process =
      DiagnosedLines(RunProgram({"diagnose", traces, "--json"}).out).at("findings").at(0);
  for (nlohmann::json* finding : {&over_kafka, &in_process}) {
    finding->erase("emitted_at");  // the time of processing, the only thing that may differ
    finding->erase("emitted_at_ns");
  }
  EXPECT_EQ(over_kafka, in_process);
}

// Both topics say the same, and every version has its own id on them.
TEST_F(ProgramKafkaTest, FindingsAreOnTheJsonTopicWhereThatIsWanted) {
  const ScratchDirectory folder;
  const std::string traces = TracesOfASlowDevice(folder);
  const std::vector<std::string> json_topic = {"--set", "findings.json_topic=true"};
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), json_topic.begin(), json_topic.end());
    return Run(std::move(arguments));
  };
  ASSERT_EQ(Run({"topics", "create"}).exit_code, kExitNothingFound);
  ASSERT_EQ(Run({"import", traces}).exit_code, kExitNothingFound);
  const ScratchDirectory state;
  const std::vector<std::string> drain = {"node", "--drain", "--state", state.path() + "/state"};
  const ProgramRun missing = run(drain);
  EXPECT_EQ(missing.exit_code, kExitError);
  EXPECT_THAT(missing.err, HasSubstr(prefix_ + ".findings-json"));
  ASSERT_EQ(run({"topics", "create"}).exit_code, kExitNothingFound);
  const ProgramRun drained = run(drain);
  ASSERT_EQ(drained.exit_code, kExitNothingFound) << drained.err;
  const absl::StatusOr<std::unique_ptr<KafkaLog>> log =
      KafkaLog::Open({.bootstrap_servers = broker_});
  ASSERT_TRUE(log.ok()) << log.status();
  std::map<std::string, std::set<std::string>> ids;
  for (const Topic topic : {Topic::kFindings, Topic::kFindingsJson}) {
    const std::string name = TopicName(prefix_, topic);
    for (const ConsumerRecord& record : testing::ReadTopic(**log, name)) {
      const std::string id(FindHeader(record.headers, "ce_id").value_or(""));
      EXPECT_TRUE(ids[name].insert(id).second) << id;
      if (topic == Topic::kFindings) continue;
      EXPECT_EQ(nlohmann::json::parse(record.value)["id"], id.substr(0, 32));
    }
  }
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids.begin()->second, ids.rbegin()->second);
}

// Event times of an old incident as Kafka's timestamps would let its retention delete what it gave
// rise to, within minutes of the import.
TEST_F(ProgramKafkaTest, WhatAnOldIncidentGivesRiseToIsKeptFromItsArrivalOn) {
  const ScratchDirectory folder;
  const std::string traces = TracesOfASlowDevice(folder);
  const auto begin = std::chrono::system_clock::now().time_since_epoch();
  ASSERT_EQ(Run({"topics", "create"}).exit_code, kExitNothingFound);
  ASSERT_EQ(Run({"import", traces}).exit_code, kExitNothingFound);
  const ScratchDirectory state;
  ASSERT_EQ(Run({"node", "--drain", "--state", state.path() + "/state"}).exit_code,
            kExitNothingFound);
  const absl::StatusOr<std::unique_ptr<KafkaLog>> log =
      KafkaLog::Open({.bootstrap_servers = broker_});
  ASSERT_TRUE(log.ok()) << log.status();
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer =
      (*log)->NewConsumer(ConsumerOptions());
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  ASSERT_TRUE(
      (*consumer)
          ->Subscribe({TopicName(prefix_, Topic::kPatterns), TopicName(prefix_, Topic::kFindings)},
                      nullptr)
          .ok());
  std::set<std::string> topics;
  for (std::vector<ConsumerRecord> records; topics.size() < 2; records.clear()) {
    const absl::Status status = (*consumer)->Poll(std::chrono::seconds(30), 100, &records);
    ASSERT_TRUE(status.ok() && !records.empty()) << status;
    for (const ConsumerRecord& record : records) {
      topics.insert(record.topic);
      EXPECT_GE(record.timestamp_ms,
                std::chrono::duration_cast<std::chrono::milliseconds>(begin).count())
          << record.topic;
    }
  }
}

// A record that is damaged: refused with its position and reason, sent back once, refused again.
TEST_F(ProgramKafkaTest, DeadLettersAreListedAndSentBackOnce) {
  ASSERT_EQ(Run({"topics", "create"}).exit_code, kExitNothingFound);
  const absl::StatusOr<std::unique_ptr<KafkaLog>> log =
      KafkaLog::Open({.bootstrap_servers = broker_});
  ASSERT_TRUE(log.ok()) << log.status();
  const absl::StatusOr<std::unique_ptr<LogProducer>> producer = (*log)->NewProducer();
  ASSERT_TRUE(producer.ok()) << producer.status();
  ASSERT_TRUE((*producer)
                  ->Append({.topic = TopicName(prefix_, Topic::kEvents),
                            .key = "night/0",
                            .value = "no payload of ours",
                            .headers = {{std::string(kHeaderJob), "night"}}})
                  .ok());
  ASSERT_TRUE((*producer)->Flush(std::chrono::seconds(30)).ok());
  const ScratchDirectory state;
  const auto drain = [&] { return Run({"node", "--drain", "--state", state.path() + "/state"}); };
  ASSERT_EQ(drain().exit_code, kExitNothingFound);
  const ProgramRun list = Run({"deadletter", "list", "--job", "night", "--json", "--payload"});
  ASSERT_EQ(list.exit_code, kExitNothingFound) << list.err;
  const nlohmann::json letter = nlohmann::json::parse(list.out);
  EXPECT_EQ(letter["source"]["topic"], TopicName(prefix_, Topic::kEvents));
  EXPECT_EQ(letter["reason"], "wrong_identifier");
  EXPECT_EQ(letter["key"], "night/0");
  EXPECT_EQ(letter["value_base64"], "bm8gcGF5bG9hZCBvZiBvdXJz");
  EXPECT_THAT(Run({"deadletter", "replay"}).out, HasSubstr("sent 1 back"));
  ASSERT_EQ(drain().exit_code, kExitNothingFound);
  EXPECT_THAT(Run({"deadletter", "list", "--summary"}).out, HasSubstr("2 wrong_identifier"));
  const ProgramRun replay = Run({"deadletter", "replay"});
  EXPECT_EQ(replay.exit_code, kExitNothingFound) << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("sent 0 back"));
}

TEST_F(ProgramKafkaTest, ANodeWithoutTopicsSaysHowToMakeThem) {
  const ScratchDirectory state;
  const ProgramRun run = Run({"node", "--state", state.path() + "/state"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("eroica topics create"));
}

TEST(ProgramWithoutBroker, ADeadBrokerIsNamedWithWhatToDo) {
  const ProgramRun run = RunProgram({"topics", "check", "--bootstrap", "127.0.0.1:9"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("127.0.0.1:9"));
  EXPECT_THAT(run.err, HasSubstr("is the broker running"));
}

}  // namespace
}  // namespace eroica

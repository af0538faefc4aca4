// Live nodes over a real broker and replays of what they worked on; replays that are killed; an
// incident that travels from Kafka into a recording and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ops/cli/exit_code.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "tests/evaluation/lab/lab_run.h"
#include "tests/integration/slow_gpu_scenario.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

class ReplayKafkaTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::optional<std::string> broker = SharedBroker();
    if (!broker) GTEST_SKIP() << kNoBrokerMessage;
    broker_ = *broker;
  }

  std::vector<std::string> Here(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--bootstrap", broker_, "--topic-prefix", prefix_});
    return arguments;
  }
  ProgramRun Run(std::vector<std::string> arguments) const {
    return RunProgram(Here(std::move(arguments)));
  }
  void Simulate(const std::string& level) const {
    ASSERT_EQ(Run({"topics", "create"}).exit_code, kExitNothingFound);
    const ProgramRun run =
        RunLab(Here({"simulate", WriteSlowGpuScenario(folder_), "--level", level}));
    ASSERT_EQ(run.exit_code, kExitNothingFound) << run.err;
  }
  std::string In(const std::string& name) const { return folder_.path() + "/" + name; }

  const ScratchDirectory folder_;
  const std::string prefix_ = UniqueName("replay");
  std::string broker_;
};

TEST_P(ReplayKafkaTest, ALiveRunAndItsReplayFindTheSame) {
  Simulate(GetParam());
  Program node(Here({"node", "--state", In("state"), "--set", "kafka.group_prefix=" + prefix_}));
  ProgramRun compared;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (int attempt = 0; std::chrono::steady_clock::now() < deadline; ++attempt) {
    // Silence is replayed until the moment at which the slice is taken.
    const std::string replay = In("replay-" + std::to_string(attempt));
    const ProgramRun replayed = Run({"replay", "-o", replay});
    ASSERT_NE(replayed.exit_code, kExitError) << replayed.err;
    compared = Run({"replay", "--compare", "live", replay});
    if (compared.exit_code == kExitNothingFound && compared.out.find("1 same") != std::string::npos)
      break;
  }
  EXPECT_EQ(compared.exit_code, kExitNothingFound) << compared.out << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("1 same, 0 new, 0 gone, 0 changed"));
  node.Signal(SIGTERM);
  EXPECT_EQ(node.Wait().exit_code, kExitNothingFound);
  // What the stages of the node have sent is on the topics now, and counts for nothing.
  ASSERT_EQ(Run({"replay", "-o", In("after")}).exit_code, kExitFindings);
  const ProgramRun after = Run({"replay", "--compare", "live", In("after")});
  EXPECT_EQ(after.exit_code, kExitNothingFound) << after.out << after.err;
}

INSTANTIATE_TEST_SUITE_P(Levels, ReplayKafkaTest, ::testing::Values("1", "2"),
                         [](const auto& suite) { return "Level" + std::string(suite.param); });

class IncidentKafkaTest : public ReplayKafkaTest {};

TEST_F(IncidentKafkaTest, GoesIntoARecordingAndBackWithEveryByte) {
  Simulate("1");
  const ProgramRun recorded = Run({"record", "-o", In("incident"), "--json"});
  ASSERT_EQ(recorded.exit_code, kExitNothingFound) << recorded.err;
  const ProgramRun verified = RunProgram({"record", "--verify", In("incident")});
  EXPECT_EQ(verified.exit_code, kExitNothingFound) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("64"));

  const std::string other = prefix_ + "-back";
  const ProgramRun returned = RunProgram({"record", "--recording", In("incident"), "--topic-prefix",
                                          prefix_, "--into", broker_, "--into-prefix", other});
  ASSERT_EQ(returned.exit_code, kExitNothingFound) << returned.err;
  const ProgramRun again = RunProgram(
      {"record", "--bootstrap", broker_, "--topic-prefix", other, "-o", In("again"), "--json"});
  ASSERT_EQ(again.exit_code, kExitNothingFound) << again.err;
  const auto checksums = [](const std::string& json) {
    std::vector<std::string> sums;
    const nlohmann::json document = nlohmann::json::parse(json);
    for (const auto& topic : document.at("topics")) {
      for (const auto& partition : topic.at("contents")) {
        sums.push_back(std::to_string(partition.at("partition").get<int>()) + " " +
                       partition.at("sha256").get<std::string>());
      }
    }
    return sums;
  };
  EXPECT_EQ(checksums(again.out), checksums(recorded.out))
      << "keys, values, headers, times, partitions";
}

TEST_F(IncidentKafkaTest, ItsReplayFindsWhatAReplayOfKafkaFinds) {
  Simulate("2");
  ASSERT_EQ(Run({"record", "-o", In("incident")}).exit_code, kExitNothingFound);
  const ProgramRun of_kafka =
      Run({"replay", "-o", In("of-kafka"), "--to-topic", prefix_ + "-mine"});
  ASSERT_EQ(of_kafka.exit_code, kExitFindings) << of_kafka.err;
  const ProgramRun of_recording = RunProgram({"replay", "--recording", In("incident"),
                                              "--topic-prefix", prefix_, "-o", In("of-recording")});
  ASSERT_EQ(of_recording.exit_code, kExitFindings) << of_recording.err;
  const ProgramRun compared =
      RunProgram({"replay", "--compare", In("of-kafka"), In("of-recording")});
  EXPECT_EQ(compared.exit_code, kExitNothingFound) << compared.out << compared.err;
  const ProgramRun topic =
      Run({"replay", "--compare", "topic:" + prefix_ + "-mine", In("of-kafka")});
  EXPECT_EQ(topic.exit_code, kExitNothingFound) << topic.out << topic.err;
  EXPECT_THAT(topic.out, HasSubstr("1 same"));
  const ProgramRun live = Run({"findings"});
  EXPECT_EQ(live.exit_code, kExitCannotTell) << "the live findings are left alone" << live.out;
}

TEST_F(IncidentKafkaTest, TheLiveFindingsTopicIsRefused) {
  Simulate("1");
  const ProgramRun run = Run({"replay", "-o", In("r"), "--to-topic", prefix_ + ".findings"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("is a topic of the live nodes"));
}

size_t RecordsOf(const std::string& folder, const std::string& topic) {
  const auto log = RecordingLog::Open({.directory = folder, .read_only = true});
  EXPECT_TRUE(log.ok()) << log.status();
  return log.ok() ? testing::ReadTopic(**log, topic).size() : 0;
}

// The replay, killed at random moments, again and again, and then run to its end, against one that
// nobody disturbs.
void KillAndCompare(std::vector<std::string> source, const std::string& folder,
                    const std::string& prefix) {
  const auto into = [&](const std::string& name) {
    std::vector<std::string> command = source;
    command.insert(command.begin(), "replay");
    command.insert(command.end(), {"-o", folder + "/" + name});
    return command;
  };
  ASSERT_EQ(RunProgram(into("undisturbed")).exit_code, kExitFindings);
  std::mt19937_64 random(7);
  for (int kill = 0; kill < 12; ++kill) {
    Program replay(into("killed"));
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(random() % 300);
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    replay.Signal(SIGKILL);
    replay.Wait();
  }
  const ProgramRun finished = RunProgram(into("killed"));
  ASSERT_EQ(finished.exit_code, kExitFindings) << finished.err;
  const ProgramRun compared =
      RunProgram({"replay", "--compare", folder + "/undisturbed", folder + "/killed"});
  EXPECT_EQ(compared.exit_code, kExitNothingFound) << compared.out << compared.err;
  const std::string topic = prefix + ".findings";
  EXPECT_EQ(RecordsOf(folder + "/killed", topic), RecordsOf(folder + "/undisturbed", topic))
      << "every finding once";
}

TEST(ReplayKill, AKilledReplayOfARecordingFindsTheSame) {
  const ScratchDirectory folder;
  const std::string recording = folder.path() + "/recording";
  ASSERT_EQ(RunLab({"simulate", WriteSlowGpuScenario(folder), "--steps", "96", "--level", "2", "-o",
                    recording})
                .exit_code,
            kExitNothingFound);
  KillAndCompare({"--recording", recording}, folder.path(), "eroica");
}

TEST_F(IncidentKafkaTest, AKilledReplayOfKafkaFindsTheSame) {
  Simulate("2");
  KillAndCompare(Here({}), folder_.path(), prefix_);
}

}  // namespace
}  // namespace eroica

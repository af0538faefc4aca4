// `eroica act` from outside: policies, dry runs, kills in the middle of an action.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_rest.h"
#include "ops/cli/program_run.h"
#include "ops/findings/testing/findings_topic.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

class ActProgramTest : public ::testing::Test {
 protected:
  ActProgramTest()
      : log_(*RecordingLog::Open({.directory = folder_.path() + "/recording"})), topic_(*log_) {
    WritePolicy("/usr/bin/touch", "\"" + folder_.path() + "/acted-{rank}\"");
  }

  void WritePolicy(const std::string& program, const std::string& arguments) {
    WriteBytes(policy_, "[limits]\ncool_down_s = 0\nexecutables = [\"" + program +
                            "\"]\n[[action]]\nname = \"mark\"\ndoes = \"run_command\"\n"
                            "command = [\"" +
                            program + "\", " + arguments +
                            "]\n[[rule]]\nname = \"slow ranks\"\naction = \"mark\"\n"
                            "kind = \"slow_rank\"\nquorum = [1, 1]\n");
  }
  std::vector<std::string> Arguments(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {
        "act",       "--recording", folder_.path() + "/recording", "--policy", policy_,
        "--journal", JournalPath()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void Start(std::vector<std::string> more) {
    program_ = std::make_unique<Program>(Arguments(std::move(more)));
  }
  ProgramRun Stop() {
    program_->Signal(SIGTERM);
    return program_->Wait();
  }
  void Publish(const std::string& id, int32_t rank, double confidence = 0.97) {
    Finding finding = FindingOf(id, FindingState::kOpened);
    finding.kind = FindingKind::kSlowRank;
    finding.subkind = "function";
    finding.confidence = confidence;
    finding.caveats.clear();
    finding.culprits = {{.rank = rank, .host = "node1"}};
    finding.emitted_at_ns = std::chrono::system_clock::now().time_since_epoch().count();
    topic_.Publish(finding);
  }
  std::string JournalPath() const { return folder_.path() + "/act.jsonl"; }
  std::string Journal() const { return ReadBytes(JournalPath()); }
  bool AwaitInJournal(const std::string& text) {
    return Await([&] { return Journal().find(text) != std::string::npos; });
  }
  bool HasActed(int rank) const {
    return std::filesystem::exists(folder_.path() + "/acted-" + std::to_string(rank));
  }

  const ScratchDirectory folder_;
  const std::string policy_ = folder_.path() + "/act.toml";
  std::unique_ptr<RecordingLog> log_;
  FindingsTopic topic_;
  std::unique_ptr<Program> program_;
};

TEST_F(ActProgramTest, IsDryUnlessItIsToldToExecute) {
  Publish("a", 3);
  Start({});
  ASSERT_TRUE(AwaitInJournal("\"entry\":\"dry_run\""));
  EXPECT_EQ(Stop().exit_code, kExitNothingFound);
  EXPECT_FALSE(HasActed(3));
  Start({"--execute"});
  ASSERT_TRUE(AwaitInJournal("\"entry\":\"outcome\""));
  EXPECT_TRUE(HasActed(3));
  const ProgramRun run = Stop();
  EXPECT_THAT(run.err, HasSubstr("done=1 failed=0"));
}

TEST_F(ActProgramTest, ItsMetricsSayWhatItsPolicyCameTo) {
  Publish("a", 3);
  Publish("b", 5, 0.1);
  Start({"--execute", "--set", "act.listen=127.0.0.1:0"});
  const auto shown = [&] { return AskProgram(program_->ErrSoFar(), "/metrics"); };
  ASSERT_TRUE(Await([&] {
    const std::string metrics = shown();
    return Count(metrics, "eroica_act_decisions_total{outcome=\"done\"} 1\n") == 1 &&
           Count(metrics, "eroica_act_versions_total 2\n") == 1;
  })) << shown()
      << program_->ErrSoFar();
  EXPECT_THAT(shown(), HasSubstr("eroica_act_decisions_total{outcome=\"failed\"} 0\n"));
  EXPECT_EQ(Stop().exit_code, kExitNothingFound);
}

TEST_F(ActProgramTest, AfterAKillInTheMiddleOfAnActionItIsReportedAndNotRepeated) {
  // It says that it has begun, and goes on until the test is over.
  WritePolicy("/bin/sh", "\"-c\", \"echo x >> " + folder_.path() + "/begun; while [ -d " +
                             folder_.path() + " ]; do sleep 0.1; done\"");
  Publish("a", 3);
  Start({"--execute"});
  const std::string begun = folder_.path() + "/begun";
  ASSERT_TRUE(Await([&] { return std::filesystem::exists(begun); }));
  program_ = nullptr;  // kill -9
  EXPECT_EQ(Count(Journal(), "\"entry\":\"intent\""), 1U);
  Publish("a", 3);
  Start({"--execute"});
  ASSERT_TRUE(AwaitInJournal("\"entry\":\"interrupted\""));
  ASSERT_TRUE(AwaitInJournal("something has been done about it before"));
  const ProgramRun run = Stop();
  EXPECT_THAT(run.err, HasSubstr("nobody knows how it ended"));
  EXPECT_EQ(Count(Journal(), "\"entry\":\"intent\""), 1U);
  EXPECT_EQ(ReadBytes(begun), "x\n");
}

TEST_F(ActProgramTest, CheckSaysWhatIsWrongWithAPolicyAndWhere) {
  const ProgramRun good = RunProgram({"act", "--check", policy_});
  EXPECT_EQ(good.exit_code, kExitNothingFound) << good.err;
  EXPECT_THAT(good.out, HasSubstr("slow ranks: mark (run_command): /usr/bin/touch"));
  WriteBytes(policy_, "[limits]\nper_our = 1\n");
  const ProgramRun bad = RunProgram({"act", "--check", policy_});
  EXPECT_EQ(bad.exit_code, kExitError);
  EXPECT_THAT(bad.err, HasSubstr("act.toml:2: unknown key 'per_our' of limits; did you mean "
                                 "'per_hour'?"));
}

TEST_F(ActProgramTest, ExplainSaysOfEachFindingWhichRuleWouldFire) {
  Publish("a", 3);
  Publish("b", 4, 0.5);
  const ProgramRun run = RunProgram(Arguments({"--explain"}));
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out, HasSubstr("-> mark: /usr/bin/touch " + folder_.path() + "/acted-3"));
  EXPECT_THAT(run.out, HasSubstr("slow ranks: no: its confidence is below 0.9"));
  EXPECT_FALSE(HasActed(3));
  EXPECT_FALSE(std::filesystem::exists(JournalPath()));
}

TEST_F(ActProgramTest, WithoutAPolicyItSaysSo) {
  const ProgramRun run = RunProgram({"act", "--recording", folder_.path() + "/recording"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("which policy?"));
}

}  // namespace
}  // namespace eroica

// `eroica replay` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "ops/findings/finding_reader.h"
#include "schemas/test_encoder.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
const std::string kFindingsTopic = "eroica.findings";

nlohmann::json JsonOf(const ProgramRun& run) {
  return nlohmann::json::parse(run.out, nullptr, /*allow_exceptions=*/false);
}

// As if its stages had seen the end of each of its findings.
void AppendResolved(const std::string& replay) {
  const auto log = RecordingLog::Open({.directory = replay});
  ASSERT_TRUE(log.ok()) << log.status();
  const auto reader = FindingReader::OpenTopic(**log, kFindingsTopic);
  ASSERT_TRUE(reader.ok()) << reader.status();
  absl::StatusOr<std::vector<Finding>> findings = ReadAllFindings(**reader);
  ASSERT_TRUE(findings.ok()) << findings.status();
  const auto producer = (*log)->NewProducer();
  ASSERT_TRUE(producer.ok());
  for (Finding& finding : *findings) {
    finding.state = FindingState::kResolved;
    TestEncoder encoder;
    const Bytes payload = encoder.Encode(finding);
    ASSERT_TRUE((*producer)
                    ->Append({.topic = kFindingsTopic,
                              .key = finding.job.value,
                              .value = std::string(reinterpret_cast<const char*>(payload.data()),
                                                   payload.size())})
                    .ok());
  }
  ASSERT_TRUE((*producer)->Flush(std::chrono::seconds(10)).ok());
}

TEST(ReplayProgram, HelpHasExamples) {
  const ProgramRun run = RunProgram({"replay", "--help"});
  EXPECT_EQ(run.exit_code, kExitNothingFound);
  EXPECT_THAT(run.out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:")));
}

TEST(ReplayProgram, FindsWhatWasFoundAndMarksItWithItsId) {
  const ScratchDirectory folder;
  const std::string replay = folder.path() + "/replay";
  const ProgramRun run = RunProgram(
      {"replay", "--recording", kFaultyRecording, "-o", replay, "--id", "incident-7", "--json"});
  ASSERT_EQ(run.exit_code, kExitFindings) << run.err;
  const nlohmann::json json = JsonOf(run);
  EXPECT_EQ(json.at("replay_id"), "incident-7");
  ASSERT_EQ(json.at("findings").size(), 1u);
  EXPECT_EQ(json.at("findings").at(0).at("replay_id"), "incident-7");
  const ProgramRun findings = RunProgram({"findings", "--recording", replay, "--json"});
  EXPECT_EQ(JsonOf(findings), json.at("findings").at(0));
  EXPECT_FALSE(std::filesystem::exists(replay + "/eroica.events")) << "only what it says is kept";
}

TEST(ReplayProgram, AHealthyJobStaysHealthy) {
  const ScratchDirectory folder;
  const ProgramRun run = RunProgram(
      {"replay", "--recording", "tests/golden/live/healthy", "-o", folder.path() + "/replay"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out, HasSubstr("nothing found"));
  const ProgramRun findings = RunProgram({"findings", "--recording", folder.path() + "/replay"});
  EXPECT_EQ(findings.exit_code, kExitNothingFound) << findings.err;
  EXPECT_THAT(findings.out, HasSubstr("Nothing found in job")) << "the replay's own state says so";
}

TEST(ReplayProgram, OfAJobThatWasRecordedInPartNobodyCanTell) {
  const ScratchDirectory folder;
  const std::string part = folder.path() + "/part";
  const std::string replay = folder.path() + "/replay";
  std::filesystem::copy("tests/golden/live/healthy", part,
                        std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(part + "/eroica.events/0");
  for (const char* again : {"", "again"}) {
    const ProgramRun run = RunProgram({"replay", "--recording", part, "-o", replay});
    EXPECT_EQ(run.exit_code, kExitCannotTell) << run.err << again;
    EXPECT_THAT(run.out, AllOf(HasSubstr("cannot tell"), HasSubstr("rank 0 of 8 is not recorded")));
  }
  const ProgramRun json =
      RunProgram({"replay", "--recording", part, "-o", folder.path() + "/other", "--json"});
  EXPECT_EQ(json.exit_code, kExitCannotTell) << json.err;
  EXPECT_THAT(JsonOf(json).at("left_open").at(0).get<std::string>(), HasSubstr("rank 0 of 8"));
  const ProgramRun findings = RunProgram({"findings", "--recording", replay});
  EXPECT_EQ(findings.exit_code, kExitCannotTell) << findings.err;
  EXPECT_THAT(findings.out, HasSubstr("rank 0 of 8 is not recorded"));
}

// A past whose findings are over: `replay` and `findings` of its folder end the same way.
TEST(ReplayProgram, WhereAllFindingsAreResolvedNoneIsOpen) {
  const ScratchDirectory folder;
  const std::string replay = folder.path() + "/replay";
  const std::vector<std::string> command = {"replay", "--recording", kFaultyRecording, "-o",
                                            replay};
  ASSERT_EQ(RunProgram(command).exit_code, kExitFindings);
  AppendResolved(replay);
  const ProgramRun findings = RunProgram({"findings", "--recording", replay});
  const ProgramRun again = RunProgram(command);
  EXPECT_EQ(again.exit_code, findings.exit_code) << again.out << again.err;
  EXPECT_NE(again.exit_code, kExitFindings);
  EXPECT_THAT(again.out,
              AllOf(HasSubstr("1 finding, resolved"), HasSubstr("1 finding is resolved")));
  EXPECT_THAT(findings.out, HasSubstr("1 finding is resolved"));
  std::vector<std::string> as_json = command;
  as_json.push_back("--json");
  const nlohmann::json json = JsonOf(RunProgram(as_json));
  EXPECT_NE(json.at("verdict"), "findings");
  EXPECT_EQ(json.at("findings").size(), 1u);
}

// Threads, wall clock and all; the node goes on until both say the same.
TEST(ReplayProgram, ALiveRunAndItsReplayFindTheSame) {
  for (const std::string job : {"compute", "data", "gc", "gil"}) {
    const ScratchDirectory folder;
    const std::string live = folder.path() + "/live";
    const std::string replay = folder.path() + "/replay";
    std::filesystem::copy("tests/golden/live/" + job, live,
                          std::filesystem::copy_options::recursive);
    const ProgramRun replayed = RunProgram({"replay", "--recording", live, "-o", replay});
    ASSERT_EQ(replayed.exit_code, kExitFindings) << job << replayed.err;
    Program node({"node", "--recording", live});
    ProgramRun compared;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    do {
      std::this_thread::yield();
      compared = RunProgram({"replay", "--compare", live, replay});
    } while (compared.exit_code != kExitNothingFound &&
             std::chrono::steady_clock::now() < deadline);
    EXPECT_EQ(compared.exit_code, kExitNothingFound) << job << compared.out << compared.err;
    EXPECT_THAT(compared.out, HasSubstr("1 same, 0 new, 0 gone, 0 changed")) << job;
    node.Signal(SIGTERM);
    node.Wait();
  }
}

TEST(ReplayProgram, AReplayAgainIsFinishedAndAnotherIsRefused) {
  const ScratchDirectory folder;
  const std::string replay = folder.path() + "/replay";
  const std::vector<std::string> command = {"replay", "--recording", kFaultyRecording, "-o",
                                            replay};
  ASSERT_EQ(RunProgram(command).exit_code, kExitFindings);
  const ProgramRun again = RunProgram(command);
  EXPECT_EQ(again.exit_code, kExitFindings) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("was finished already"), HasSubstr("1 finding")));
  const auto refused = [&](std::vector<std::string> more, const std::string& why) {
    std::vector<std::string> other = command;
    other.insert(other.end(), more.begin(), more.end());
    const ProgramRun run = RunProgram(other);
    EXPECT_EQ(run.exit_code, kExitError) << why;
    EXPECT_THAT(run.err, AllOf(HasSubstr("holds another replay"), HasSubstr(why)));
  };
  refused({"--job", "night"}, "its --job is");
  refused({"--to", "2026-11-25"}, "its --to is not given, not 2026-11-25");
  refused({"--set", "summarize.fold_below=0.5"}, "its configuration is another");
  refused({"--id", "other"}, "its id is");
}

TEST(ReplayProgram, ADryRunSaysWhatWouldBeReadAndReadsNothing) {
  const ScratchDirectory folder;
  const std::string replay = folder.path() + "/replay";
  const ProgramRun run =
      RunProgram({"replay", "--recording", kFaultyRecording, "-o", replay, "--dry-run"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("50 records in 8 of"), HasSubstr("event times"),
                             HasSubstr("into " + replay)));
  EXPECT_FALSE(std::filesystem::exists(replay));
}

TEST(ReplayProgram, OtherSettingsSayOtherThingsAndCompareSaysWhich) {
  const ScratchDirectory folder;
  const std::string as_it_was = folder.path() + "/as-it-was";
  const std::string half = folder.path() + "/half";
  ASSERT_EQ(RunProgram({"replay", "--recording", kFaultyRecording, "-o", as_it_was}).exit_code,
            kExitFindings);
  ASSERT_NE(RunProgram({"replay", "--recording", kFaultyRecording, "-o", half, "--to",
                        "2026-11-24T01:40:40Z"})
                .exit_code,
            kExitError);
  const ProgramRun compared = RunProgram({"replay", "--compare", as_it_was, half});
  EXPECT_EQ(compared.exit_code, kExitFindings) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr(" -> "));
  const ProgramRun json = RunProgram({"replay", "--compare", as_it_was, half, "--json"});
  EXPECT_EQ(JsonOf(json).at("equal"), false);
  const ProgramRun same = RunProgram({"replay", "--compare", half, half});
  EXPECT_EQ(same.exit_code, kExitNothingFound);
}

TEST(ReplayProgram, SaysWhatIsMissingOrWrong) {
  const ScratchDirectory folder;
  const ProgramRun no_source = RunProgram({"replay"});
  EXPECT_EQ(no_source.exit_code, kExitError);
  EXPECT_THAT(no_source.err, HasSubstr("--recording DIR or --bootstrap"));
  const ProgramRun missing = RunProgram({"replay", "--recording", folder.path() + "/none"});
  EXPECT_THAT(missing.err, HasSubstr(folder.path() + "/none"));
  const ProgramRun live_topic =
      RunProgram({"replay", "--bootstrap", "127.0.0.1:9", "--to-topic", "eroica.findings"});
  EXPECT_EQ(live_topic.exit_code, kExitError);
  EXPECT_THAT(live_topic.err, HasSubstr("is a topic of the live nodes"));
  const ProgramRun no_topic = RunProgram({"replay", "--recording", kFaultyRecording, "-o",
                                          folder.path() + "/r", "--to-topic", "mine"});
  EXPECT_EQ(no_topic.exit_code, kExitError);
  EXPECT_THAT(no_topic.err, HasSubstr("eroica record"));
  const ProgramRun one = RunProgram({"replay", "--compare", "a"});
  EXPECT_EQ(one.exit_code, kExitError);
  const ProgramRun no_folder = RunProgram({"replay", "--compare", "no-such-a", "no-such-b"});
  EXPECT_EQ(no_folder.exit_code, kExitError);
  EXPECT_THAT(no_folder.err, HasSubstr("no-such-a"));
  WriteBytes(folder.path() + "/file", "not mine");
  const ProgramRun occupied =
      RunProgram({"replay", "--recording", kFaultyRecording, "-o", folder.path()});
  EXPECT_EQ(occupied.exit_code, kExitError);
  EXPECT_THAT(occupied.err, HasSubstr("holds no replay"));
}

}  // namespace
}  // namespace eroica

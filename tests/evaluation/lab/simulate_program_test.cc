// eroica-lab simulate, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ops/cli/diagnosed_lines.h"
#include "ops/cli/exit_code.h"
#include "tests/evaluation/lab/lab_run.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kScenario[] = "tests/scenarios/dev/gpu_slow_dp_8r.toml";
constexpr int kCulprit = 5;

nlohmann::json Parsed(const ProgramRun& run) {
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  nlohmann::json json = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << run.out;
  return json;
}

// The ranks that are blamed in what `eroica findings --json` prints.
std::vector<int> Blamed(const std::string& recording) {
  const ScratchDirectory state;
  const ProgramRun node =
      RunProgram({"node", "--recording", recording, "--drain", "--state", state.path() + "/state"});
  EXPECT_EQ(node.exit_code, kExitNothingFound) << node.err;
  const ProgramRun run = RunProgram({"findings", "--recording", recording, "--json"});
  std::vector<int> ranks;
  size_t begin = 0;
  for (size_t end = run.out.find('\n'); end != std::string::npos;
       begin = end + 1, end = run.out.find('\n', begin)) {
    const nlohmann::json finding = nlohmann::json::parse(run.out.substr(begin, end - begin));
    for (const nlohmann::json& culprit : finding.at("culprits"))
      ranks.push_back(culprit.at("rank"));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

TEST(SimulateProgram, AJobInARecordingIsDiagnosedTheSameAtEachLevel) {
  for (const char* level : {"1", "2"}) {
    const ScratchDirectory folder;
    const std::string recording = folder.path() + "/recording";
    const nlohmann::json said =
        Parsed(RunLab({"simulate", kScenario, "-o", recording, "--level", level, "--json"}));
    EXPECT_EQ(said.at("job"), "gpu_slow_dp_8r");
    EXPECT_EQ(said.at("ranks"), 8);
    EXPECT_EQ(said.at("steps"), 24);
    EXPECT_GT(said.at("events"), 1000);
    EXPECT_GT(said.at("records"), 0);
    EXPECT_GT(said.at("step_ns_mean"), 1e6);
    EXPECT_EQ(Blamed(recording), std::vector<int>{kCulprit}) << "level " << level;
  }
}

TEST(SimulateProgram, AHostThatSlowsTwoJobsIsSeenToRecur) {
  const ScratchDirectory folder;
  const std::string recording = folder.path() + "/recording";
  Parsed(RunLab({"simulate", kScenario, "-o", recording, "--job", "monday", "--json"}));
  Parsed(RunLab({"simulate", kScenario, "-o", recording, "--job", "tuesday", "--seed", "9",
                 "--append", "--json"}));
  EXPECT_EQ(Blamed(recording), std::vector<int>{kCulprit});
  const ProgramRun run = RunProgram({"findings", "--recording", recording, "--by-host", "--json"});
  EXPECT_EQ(run.exit_code, kExitFindings) << run.err;
  const nlohmann::json record = nlohmann::json::parse(run.out);
  EXPECT_EQ(record.at("host"), "node0000");
  EXPECT_TRUE(record.at("recurring"));
  EXPECT_EQ(record.at("devices"), nlohmann::json::array({kCulprit}));
  EXPECT_EQ(record.at("jobs").size(), 2u);
  const ProgramRun one =
      RunProgram({"findings", "--recording", recording, "--by-host", "--job", "monday"});
  EXPECT_THAT(one.out, StartsWith("node0000: 1 finding in 1 job")) << one.err;
}

TEST(SimulateProgram, ChromeTracesAreDiagnosedTheSame) {
  const ScratchDirectory folder;
  const std::string traces = folder.path() + "/traces";
  const nlohmann::json said = Parsed(RunLab({"simulate", kScenario, "--chrome", traces, "--json"}));
  EXPECT_EQ(said.at("records"), 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(traces),
                          std::filesystem::directory_iterator()),
            8);
  const ProgramRun diagnosed = RunProgram({"diagnose", traces, "--window-steps", "4", "--json"});
  EXPECT_EQ(diagnosed.exit_code, kExitFindings) << diagnosed.err;
  const nlohmann::json json = DiagnosedLines(diagnosed.out);
  EXPECT_THAT(json.at("import").at("warnings").dump(), "[]");
  EXPECT_EQ(json.at("findings").at(0).at("culprits").at(0).at("rank"), kCulprit);
  const ProgramRun again = RunLab({"simulate", kScenario, "--chrome", traces});
  EXPECT_EQ(again.exit_code, kExitError);
  EXPECT_THAT(again.err, HasSubstr("holds traces already"));
}

TEST(SimulateProgram, OfTracesWithoutTheCulpritsNobodyCanTell) {
  const ScratchDirectory folder;
  const std::string traces = folder.path() + "/traces";
  Parsed(RunLab({"simulate", kScenario, "--chrome", traces, "--json"}));
  for (const auto& entry : std::filesystem::directory_iterator(traces)) {
    const bool culprits =
        entry.path().filename().string().find(std::to_string(kCulprit)) != std::string::npos;
    if (culprits) std::filesystem::remove(entry.path());
  }
  const ProgramRun run = RunProgram({"diagnose", traces, "--window-steps", "4", "--json"});
  EXPECT_EQ(run.exit_code, kExitCannotTell) << run.out << run.err;
  const nlohmann::json json = DiagnosedLines(run.out);
  EXPECT_TRUE(json.at("cannot_tell"));
  EXPECT_THAT(json.at("left_open").at(0).get<std::string>(),
              HasSubstr("rank 5 of 8 is not recorded"));
  const ProgramRun text = RunProgram({"diagnose", traces, "--window-steps", "4"});
  EXPECT_EQ(text.exit_code, kExitCannotTell);
  EXPECT_THAT(text.out, HasSubstr("Cannot tell"));
  EXPECT_THAT(text.out, Not(HasSubstr("Nothing found")));
}

TEST(SimulateProgram, EqualSeedsGiveEqualRecordingsAndOthersOthers) {
  const ScratchDirectory folder;
  std::vector<uint64_t> bytes;
  for (const char* seed : {"4", "4", "5"}) {
    const std::string recording = folder.path() + "/" + std::to_string(bytes.size());
    const nlohmann::json said = Parsed(
        RunLab({"simulate", kScenario, "-o", recording, "--seed", seed, "--steps", "6", "--json"}));
    EXPECT_EQ(said.at("steps"), 6);
    bytes.push_back(said.at("bytes"));
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_NE(bytes[0], bytes[2]);
}

TEST(SimulateProgram, RealPaceTakesAsLongAsTheJob) {
  const ScratchDirectory folder;
  const auto start = std::chrono::steady_clock::now();
  const nlohmann::json said = Parsed(RunLab(
      {"simulate", kScenario, "-o", folder.path(), "--steps", "5", "--pace", "real", "--json"}));
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  EXPECT_GE(taken.count(), 5 * said.at("step_ns_mean").get<double>() * 0.9);
}

TEST(SimulateProgram, SaysWhatIsWrong) {
  const ScratchDirectory folder;
  const ProgramRun none = RunLab({"simulate"});
  EXPECT_EQ(none.exit_code, kExitError);
  EXPECT_THAT(none.err, HasSubstr("which scenario?"));
  const ProgramRun nowhere = RunLab({"simulate", kScenario});
  EXPECT_EQ(nowhere.exit_code, kExitError);
  EXPECT_THAT(nowhere.err, HasSubstr("-o DIR"));
  const ProgramRun patterns =
      RunLab({"simulate", kScenario, "--chrome", folder.path() + "/t", "--level", "1"});
  EXPECT_EQ(patterns.exit_code, kExitError);
  EXPECT_THAT(patterns.err, HasSubstr("--level 2"));
  const std::string file = folder.path() + "/job.toml";
  WriteBytes(file, "family = \"x\"\nabout = \"y\"\n[layout]\ndta = 8\n");
  const ProgramRun unknown = RunLab({"simulate", file, "-o", folder.path() + "/r"});
  EXPECT_EQ(unknown.exit_code, kExitError);
  EXPECT_EQ(unknown.err,
            "eroica-lab: " + file + ":4: unknown key 'layout.dta'; did you mean 'layout.data'?\n");
  EXPECT_EQ(RunLab({"simulate", kScenario, "-o", folder.path() + "/r", "--steps", "5"}).exit_code,
            kExitNothingFound);
  const ProgramRun twice = RunLab({"simulate", kScenario, "-o", folder.path() + "/r"});
  EXPECT_EQ(twice.exit_code, kExitError);
  EXPECT_THAT(twice.err, HasSubstr("--append"));
}

TEST(SimulateProgram, PrintsTheReferencePage) {
  const ProgramRun run = RunLab({"simulate", "--print-scenario-reference"});
  EXPECT_EQ(run.exit_code, kExitNothingFound);
  EXPECT_THAT(run.out, StartsWith("# Scenario files\n"));
  EXPECT_THAT(run.err, IsEmpty());
}

}  // namespace
}  // namespace eroica

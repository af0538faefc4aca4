// Recordings of real jobs (tests/golden/live, made by tests/live/record_golden.sh on a machine with
// fewer cores than ranks) through the program: a node works them off, and names the rank that was
// made slow. They lie in the repository, so that these tests run in every clone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

const std::string kFolder = "tests/golden/live/";

nlohmann::json Truth() {
  std::ifstream file(kFolder + "truth.json");
  return nlohmann::json::parse(file);
}

std::vector<std::string> Cases() {
  std::vector<std::string> cases;
  const nlohmann::json truth = Truth();
  for (auto entry = truth.begin(); entry != truth.end(); ++entry) cases.push_back(entry.key());
  return cases;
}

// What a node finds in it, each finding in its last state.
std::vector<nlohmann::json> FindingsIn(const std::string& name) {
  const ScratchDirectory scratch;
  const std::string recording = scratch.path() + "/recording";
  std::filesystem::copy(kFolder + name, recording, std::filesystem::copy_options::recursive);
  const ProgramRun node = RunProgram(
      {"node", "--recording", recording, "--drain", "--set", "summarize.out_of_orderness_ms=1000"});
  EXPECT_EQ(node.exit_code, kExitNothingFound) << node.err;
  std::istringstream lines(RunProgram({"findings", "--recording", recording, "--json"}).out);
  std::vector<nlohmann::json> findings;
  for (std::string line; std::getline(lines, line);)
    findings.push_back(nlohmann::json::parse(line));
  return findings;
}

bool Names(const nlohmann::json& finding, const nlohmann::json& truth) {
  if (finding.at("culprits").size() != 1) return false;
  const nlohmann::json& culprit = finding.at("culprits")[0];
  if (culprit.at("rank") != truth.at("rank")) return false;
  if (truth.contains("peer") && culprit.at("peer") != truth.at("peer")) return false;
  if (!truth.contains("function")) return true;
  const bool in_stack = !truth.contains("stack") ||
                        std::regex_search(finding.at("stack").get<std::string>(),
                                          std::regex(truth.at("stack").get<std::string>()));
  return in_stack && std::regex_search(finding.at("function").get<std::string>(),
                                       std::regex(truth.at("function").get<std::string>()));
}

class LiveRecording : public ::testing::TestWithParam<std::string> {};

TEST_P(LiveRecording, TheRankThatWasMadeSlowIsNamedWithItsCauseAndNobodyElse) {
  const nlohmann::json truth = Truth().at(GetParam());
  const std::vector<nlohmann::json> findings = FindingsIn(GetParam());
  size_t right = 0;
  for (const nlohmann::json& finding : findings) {
    const bool names = !truth.is_null() && Names(finding, truth);
    right += names ? 1 : 0;
    EXPECT_TRUE(names) << finding.at("title") << " (" << finding.at("function") << ")";
  }
  EXPECT_EQ(right > 0, !truth.is_null());
}

INSTANTIATE_TEST_SUITE_P(Demo, LiveRecording, ::testing::ValuesIn(Cases()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace eroica

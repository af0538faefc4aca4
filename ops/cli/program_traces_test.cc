// The program over real traces: what a user reads, and that a recording on the way makes no
// difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "ops/cli/diagnosed_lines.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

const std::string kTraces = "../shared/traces/";

class ProgramTracesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kTraces))
      GTEST_SKIP() << "needs the real traces in ../shared/traces, which are not in the repository; "
                      "program_test and golden_test diagnose jobs that are";
  }
};

// Without the time of processing, the only thing that may differ.
nlohmann::json Diagnosed(const std::string& folder) {
  nlohmann::json findings =
      DiagnosedLines(RunProgram({"diagnose", folder, "--json"}).out).at("findings");
  for (nlohmann::json& finding : findings) {
    finding.erase("emitted_at");
    finding.erase("emitted_at_ns");
  }
  return findings;
}

// By import, node and findings, three runs of the program over one recording.
nlohmann::json ThroughARecording(const std::string& folder) {
  const ScratchDirectory scratch;
  const std::string recording = scratch.path() + "/recording";
  EXPECT_EQ(RunProgram({"import", folder, "-o", recording}).exit_code, kExitNothingFound);
  const ProgramRun node = RunProgram({"node", "--recording", recording, "--drain"});
  EXPECT_EQ(node.exit_code, kExitNothingFound) << node.err;
  const ProgramRun listed = RunProgram({"findings", "--recording", recording, "--json"});
  EXPECT_EQ(RunProgram({"findings", "--recording", recording, "--state", "--json"}).out,
            listed.out);
  std::istringstream lines(listed.out);
  nlohmann::json findings = nlohmann::json::array();
  for (std::string line; std::getline(lines, line);) {
    findings.push_back(nlohmann::json::parse(line));
    findings.back().erase("emitted_at");
    findings.back().erase("emitted_at_ns");
  }
  return findings;
}

TEST_F(ProgramTracesTest, TheFindingIsReadableAndTheBooksClose) {
  const ProgramRun run = RunProgram({"diagnose", kTraces + "dlrm-kineto-8rank"});
  EXPECT_EQ(run.exit_code, kExitFindings) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("8 of 8 ranks from 8 files\n26538 events, 19717 imported"));
  EXPECT_THAT(run.out, HasSubstr("who         rank 7"));
  EXPECT_THAT(run.out, HasSubstr("victims"));
  EXPECT_THAT(run.out, HasSubstr("persistence is not shown"));
}

TEST_F(ProgramTracesTest, AHealthyJobEndsWithNothingFound) {
  const ProgramRun run = RunProgram({"diagnose", kTraces + "torch-gloo/healthy_4r"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("Nothing found"));
}

TEST_F(ProgramTracesTest, ARecordingOnTheWayMakesNoDifference) {
  for (const char* folder : {"dlrm-kineto-8rank", "torch-gloo/slow_compute_4r"}) {
    const nlohmann::json direct = Diagnosed(kTraces + folder);
    EXPECT_FALSE(direct.empty()) << folder;
    EXPECT_EQ(ThroughARecording(kTraces + folder), direct) << folder;
  }
}

}  // namespace
}  // namespace eroica

// Findings whose names somebody has chosen to harm those who read them, through the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "schemas/codec.h"
#include "schemas/example_payloads.h"
#include "schemas/printable_text.h"
#include "schemas/test_encoder.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHostile =
    "x\n[critical] \x1b]0;title\x07\x1b[2J\r\x7f\u009b2J\u202e\xff/../../etc" +
    std::string(3'000, 'y');

Finding HostileFinding() {
  Finding finding = ExampleFinding();
  finding.kind = FindingKind::kSlowRank;
  finding.state = FindingState::kOpened;
  for (std::string* text : {&finding.id, &finding.job.value, &finding.subkind, &finding.function,
                            &finding.stack, &finding.title, &finding.explanation,
                            &finding.suggested_action, &finding.culprits.at(0).host,
                            &finding.evidence.at(0).name, &finding.chain.at(0).description})
    *text = kHostile;
  finding.caveats = {kHostile};
  return finding;
}

class HostileNamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Run({"topics", "create"}).exit_code, kExitNothingFound);
    const auto log = RecordingLog::Open({.directory = Recording()});
    const auto producer = (*log)->NewProducer();
    TestEncoder encoder;
    const Bytes payload = encoder.Encode(HostileFinding());
    ASSERT_TRUE((*producer)
                    ->Append({.topic = "eroica.findings",
                              .key = "job",
                              .value = std::string(reinterpret_cast<const char*>(payload.data()),
                                                   payload.size())})
                    .ok());
    ASSERT_TRUE((*producer)->Flush(std::chrono::seconds(10)).ok());
  }

  std::string Recording() const { return folder_.path() + "/recording"; }
  ProgramRun Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--recording", Recording()});
    return RunProgram(std::move(arguments));
  }

  ScratchDirectory folder_;
};

TEST_F(HostileNamesTest, NoFormOfAFindingDrivesATerminalOrForgesALine) {
  for (const char* form : {"--json", "--brief", "--by-host", ""}) {
    std::vector<std::string> arguments = {"findings"};
    if (*form != '\0') arguments.emplace_back(form);
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, kExitFindings) << form << run.err;
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) EXPECT_EQ(line, Printable(line)) << form;
    EXPECT_THAT(run.out, Not(HasSubstr("\n[critical]"))) << form;
    EXPECT_THAT(run.out, HasSubstr("\\n[critical]")) << form << ": it is there, for people to see";
  }
}

TEST_F(HostileNamesTest, JsonHasTheNamesAsTheyAre) {
  const nlohmann::json finding = nlohmann::json::parse(Run({"findings", "--json"}).out);
  EXPECT_THAT(
      finding["job"].get<std::string>(),
      HasSubstr("x\n[critical] \x1b]0;title\x07\x1b[2J\r\x7f\u009b2J\u202e\ufffd/../../etc"));
  const ProgramRun of_job = Run({"findings", "--job", kHostile, "--brief"});
  EXPECT_EQ(of_job.exit_code, kExitFindings) << of_job.err;
}

}  // namespace
}  // namespace eroica

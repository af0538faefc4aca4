// `eroica-lab real` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "ops/cli/exit_code.h"
#include "tests/evaluation/lab/lab_run.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RealProgram, PrintsATableAndItsTotals) {
  const ProgramRun run = RunLab({"real", "compute"});
  EXPECT_EQ(run.exit_code, kExitFindings) << run.err;
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, HasSubstr("less the culprit"));
  EXPECT_THAT(run.out, HasSubstr("Runs by kind of recording"));
}

TEST(RealProgram, TheSameInputGivesTheSameOutput) {
  const ProgramRun one = RunLab({"real", "healthy", "gil", "--json", "--jobs", "1"});
  const ProgramRun two = RunLab({"real", "healthy", "gil", "--json", "--jobs", "2"});
  EXPECT_EQ(one.out, two.out);
  const nlohmann::json json = nlohmann::json::parse(one.out);
  EXPECT_GT(json.at("runs").size(), 100u);
  EXPECT_EQ(json.at("runs").front().at("job"), "healthy");
  EXPECT_EQ(json.at("runs").back().at("job"), "gil");
}

TEST(RealProgram, WritesASectionThatTheAccuracyPageTakes) {
  const ScratchDirectory folder;
  const std::string section = folder.path() + "/real.md";
  const std::string page = folder.path() + "/page.md";
  EXPECT_NE(RunLab({"real", "healthy", "--markdown", section}).exit_code, kExitError);
  const ProgramRun score =
      RunLab({"score", "tests/scenarios/dev/gpu_slow_gross_dp_8r.toml", "--method", "eroica",
              "--seeds", "1", "--real", section, "--markdown", page});
  EXPECT_NE(score.exit_code, kExitError) << score.err;
  EXPECT_THAT(ReadBytes(section), HasSubstr("## Real jobs under variations"));
  EXPECT_THAT(ReadBytes(page), HasSubstr("\n\n" + ReadBytes(section)));
}

TEST(RealProgram, WhatCannotBeRunIsAnError) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"real", "no_such_job"},
           {"real", "--recordings", "no such folder"},
           {"real", "dlrm", "--traces", "no such folder"},
           {"real", "healthy", "--markdown", "/no/such/folder/page.md"}}) {
    const ProgramRun run = RunLab(arguments);
    EXPECT_EQ(run.exit_code, kExitError) << arguments.back();
    EXPECT_THAT(run.err, HasSubstr("eroica-lab: ")) << arguments.back();
  }
}

}  // namespace
}  // namespace eroica

// `eroica-lab score` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "ops/cli/exit_code.h"
#include "tests/evaluation/lab/lab_run.h"

namespace eroica {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSlow[] = R"(family = "gpu slow"
about = "One device is slow."
steps = 12
[layout]
data = 4
[workload]
layers = 2
micro_batches = 1
[[fault]]
kind = "gpu_slow"
ranks = 2
severity = 1.0
[[expect]]
kinds = ["slow_rank"]
ranks = )";

// Writes scenario files into a folder of its own.
class ScoreProgram : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  static std::string Read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  ScratchDirectory folder_;
};

TEST_F(ScoreProgram, AllRightIsExitZero) {
  const ProgramRun run =
      RunLab({"score", Write("slow.toml", kSlow + std::string("2\n")), "--method", "eroica"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("gpu slow"));
  EXPECT_THAT(run.out, EndsWith("\neroica: all right in 1 of 1 runs\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("Not right")));
  EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(ScoreProgram, AMissIsNamedAndIsExitOne) {
  const ProgramRun run = RunLab({"score", Write("slow.toml", kSlow + std::string("1\n"))});
  EXPECT_EQ(run.exit_code, kExitFindings);
  EXPECT_THAT(run.out, HasSubstr("slow / 1  missed: expected slow_rank of rank 1"));
  EXPECT_THAT(run.out, HasSubstr("slow_rank of rank 2"));
}

TEST_F(ScoreProgram, TheSameInputGivesTheSameOutput) {
  const std::string file = Write("slow.toml", kSlow + std::string("2\n"));
  const ProgramRun one = RunLab({"score", file, "--json", "--seeds", "3", "--jobs", "1"});
  const ProgramRun two = RunLab({"score", file, "--json", "--seeds", "3", "--jobs", "3"});
  EXPECT_EQ(one.out, two.out);
  const nlohmann::json json = nlohmann::json::parse(one.out);
  EXPECT_GT(json.at("methods").size(), 1u);
  EXPECT_EQ(json.at("runs").size(), 3 * json.at("methods").size());
}

TEST_F(ScoreProgram, WritesThePageAndTheCharts) {
  const std::string page = folder_.path() + "/page.md";
  const std::string charts = folder_.path() + "/charts.svg";
  const std::string known = Write("known.txt", "slow: a device that is too fast\n");
  const ProgramRun run = RunLab({"score", Write("slow.toml", kSlow + std::string("1\n")),
                                 "--markdown", page, "--svg", charts, "--known", known});
  EXPECT_EQ(run.exit_code, kExitFindings) << run.err;
  EXPECT_THAT(Read(page), HasSubstr("](charts.svg)"));
  EXPECT_THAT(Read(page), HasSubstr("a device that is too fast"));
  EXPECT_THAT(Read(charts), HasSubstr("</svg>"));
}

TEST_F(ScoreProgram, WhatCannotBeRunIsAnError) {
  const std::string file = Write("slow.toml", kSlow + std::string("2\n"));
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"score", "no_such_file.toml"},
           {"score", file, "--method", "magic"},
           {"score", file, "--family", "none such"},
           {"score", file, "--markdown", "/no/such/folder/page.md"},
           {"score", file, "--known", "no_such_file.txt"},
           {"score", file, "--jobs", "0"}}) {
    const ProgramRun run = RunLab(arguments);
    EXPECT_EQ(run.exit_code, kExitError) << arguments.back();
    EXPECT_THAT(run.err, HasSubstr("eroica-lab: ")) << arguments.back();
  }
}

TEST_F(ScoreProgram, HelpHasExamples) {
  const ProgramRun run = RunLab({"score", "--help"});
  EXPECT_EQ(run.exit_code, kExitNothingFound);
  EXPECT_THAT(run.out, HasSubstr("Examples:"));
}

}  // namespace
}  // namespace eroica

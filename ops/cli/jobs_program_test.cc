// `eroica jobs` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobsProgramTest : public ::testing::Test {
 protected:
  std::string recording() const { return folder_.path() + "/recording"; }
  void Diagnose() {
    std::filesystem::copy(kFaultyRecording, recording(), std::filesystem::copy_options::recursive);
    const ProgramRun node = RunProgram({"node", "--recording", recording(), "--drain", "--set",
                                        "summarize.out_of_orderness_ms=1000"});
    ASSERT_EQ(node.exit_code, kExitNothingFound) << node.err;
  }
  static Json OneOf(const ProgramRun& run) {
    EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
    return Json::parse(run.out, nullptr, /*allow_exceptions=*/false);
  }

  ScratchDirectory folder_;
};

TEST_F(JobsProgramTest, AJobWithItsOpenFindings) {
  Diagnose();
  const Json job = OneOf(RunProgram({"jobs", "--recording", recording(), "--json"}));
  EXPECT_THAT(job.at("newest_window").get<std::string>(), ::testing::StartsWith("steps-"));
  EXPECT_EQ(job.at("ranks_seen"), job.at("world_size"));
  EXPECT_GT(job.at("step_ns"), 0);
  int open = 0;
  for (const auto& [severity, count] : job.at("open_findings").items()) open += count.get<int>();
  EXPECT_EQ(open, 1) << job;
  const std::string state = recording() + ".state";
  EXPECT_EQ(OneOf(RunProgram({"jobs", "--state", state, "--json"})), job);
  const ProgramRun text = RunProgram({"jobs", "--recording", recording()});
  EXPECT_THAT(text.out, HasSubstr(job.at("job").get<std::string>()));
  EXPECT_THAT(text.out, HasSubstr(job.at("newest_window").get<std::string>()));
}

TEST_F(JobsProgramTest, ARunningNodeSaysTheSameAsItsRecording) {
  Diagnose();
  Program node({"node", "--recording", recording(), "--set", "rest.listen=127.0.0.1:0"});
  const auto url = [&node] {
    const std::string log = node.ErrSoFar();
    const size_t begin = log.find("url=");
    const size_t end = begin == std::string::npos ? begin : log.find('\n', begin);
    return end == std::string::npos ? "" : log.substr(begin + 4, end - begin - 4);
  };
  ASSERT_TRUE(Await([&] { return !url().empty(); })) << node.ErrSoFar();
  const Json expected = OneOf(RunProgram({"jobs", "--recording", recording(), "--json"}));
  Json seen;
  EXPECT_TRUE(Await([&] {
    const ProgramRun run = RunProgram({"jobs", "--node", url(), "--json"});
    seen = Json::parse(run.out, nullptr, false);
    return seen == expected;
  })) << seen
      << expected;
}

TEST_F(JobsProgramTest, WithoutANodeNobodyCanTell) {
  ASSERT_EQ(RunProgram({"topics", "create", "--recording", recording()}).exit_code,
            kExitNothingFound);
  const ProgramRun run = RunProgram({"jobs", "--recording", recording(), "--json"});
  EXPECT_EQ(run.exit_code, kExitCannotTell);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr("no node has run over"));
}

TEST_F(JobsProgramTest, WhatWouldBeIgnoredIsRefused) {
  for (const std::vector<std::string>& beside :
       std::vector<std::vector<std::string>>{{"--recording", "x"},
                                             {"--bootstrap", "x:1"},
                                             {"--set", "node.log_level=info"},
                                             {"--state"}}) {
    std::vector<std::string> arguments = {"jobs", "--node", "http://127.0.0.1:1"};
    arguments.insert(arguments.end(), beside.begin(), beside.end());
    const ProgramRun run = RunProgram(arguments);
    EXPECT_EQ(run.exit_code, kExitError) << beside[0];
    EXPECT_THAT(run.err, HasSubstr("do not go together")) << beside[0];
  }
  const ProgramRun run = RunProgram({"jobs", "--recording", "x", "--token-file", "y"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("serve --node alone"));
}

TEST_F(JobsProgramTest, ANodeThatIsNotThereIsAnError) {
  const ProgramRun run = RunProgram({"jobs", "--node", "http://127.0.0.1:1"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("http://127.0.0.1:1 does not answer"));
  EXPECT_EQ(RunProgram({"jobs", "--node", "127.0.0.1"}).exit_code, kExitError);
}

}  // namespace
}  // namespace eroica

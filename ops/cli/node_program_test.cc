// `eroica node` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool IsRunning(const Program& node) {
  return node.ErrSoFar().find("node: running") != std::string::npos;
}

TEST(NodeProgram, PrintsTheConfigurationThatHolds) {
  const ScratchDirectory folder;
  const std::string file = folder.path() + "/node.toml";
  WriteBytes(
      file,
      "[runtime]\nidle_timeout_ms = 777\n[kafka.properties]\n\"sasl.password\" = \"hunter2\"\n");
  const ProgramRun run =
      RunProgram({"node", "--config", file, "--role", "align", "--print-config"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out, HasSubstr("idle_timeout_ms = 777"));
  EXPECT_THAT(run.out, HasSubstr("roles = [\"align\"]"));
  EXPECT_THAT(run.out, Not(HasSubstr("hunter2")));
}

TEST(NodeProgram, WhatADrainCameToAsJson) {
  const ScratchDirectory folder;
  const std::string recording = folder.path() + "/recording";
  std::filesystem::copy(kFaultyRecording, recording, std::filesystem::copy_options::recursive);
  const ProgramRun run = RunProgram({"node", "--recording", recording, "--drain", "--json", "--set",
                                     "summarize.out_of_orderness_ms=1000"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("jobs"), 1);
  EXPECT_EQ(json.at("findings_open"), 1);
  EXPECT_GT(json.at("stages").at("summarize").at("received"), 0);
  const ProgramRun follows = RunProgram({"node", "--recording", recording, "--json"});
  EXPECT_EQ(follows.exit_code, kExitError);
  EXPECT_THAT(follows.err, HasSubstr("--json goes with --drain or --print-config"));
}

TEST(NodeProgram, ReferenceIsThePageInTheRepository) {
  EXPECT_EQ(RunProgram({"node", "--print-config-reference"}).out,
            ReadBytes("docs/reference/config.md"));
}

TEST(NodeProgram, UnknownRoleIsRefused) {
  const ProgramRun run = RunProgram({"node", "--recording", "x", "--role", "summarise"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("summarise"));
}

// A mistyped path is no empty recording.
TEST(NodeProgram, DrainsNoRecordingThatDoesNotExist) {
  const ScratchDirectory folder;
  const std::string missing = folder.path() + "/recordnig";
  const ProgramRun run = RunProgram({"node", "--recording", missing, "--drain"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("recordnig"));
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST(NodeProgram, SecretsInTheConfigurationStopTheStart) {
  const ProgramRun run = RunProgram(
      {"node", "--bootstrap", "127.0.0.1:9", "--set", "kafka.properties.sasl.password=hunter2"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, AllOf(HasSubstr("sasl.password_file"), Not(HasSubstr("hunter2"))));
}

TEST(NodeProgram, StopsInGoodOrderOnSigterm) {
  const ScratchDirectory folder;
  Program node({"node", "--recording", folder.path() + "/recording"});
  ASSERT_TRUE(Await([&] { return IsRunning(node); })) << node.ErrSoFar();
  node.Signal(SIGTERM);
  const ProgramRun run = node.Wait();
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.err, HasSubstr("summarize: received=0"));
}

TEST(NodeProgram, ASecondNodeOnTheSameStateIsRefused) {
  const ScratchDirectory folder;
  const std::string state = folder.path() + "/state";
  Program node({"node", "--recording", folder.path() + "/one", "--state", state});
  ASSERT_TRUE(Await([&] { return IsRunning(node); })) << node.ErrSoFar();
  const ProgramRun second =
      RunProgram({"node", "--recording", folder.path() + "/two", "--state", state});
  EXPECT_EQ(second.exit_code, kExitError);
  EXPECT_THAT(second.err, HasSubstr(state));
  node.Signal(SIGINT);
  EXPECT_EQ(node.Wait().exit_code, kExitNothingFound);
}

TEST(NodeProgram, TheFindingsOfARunningNodeCanBeRead) {
  const ScratchDirectory folder;
  const std::string recording = folder.path() + "/recording";
  Program node({"node", "--recording", recording});
  ASSERT_TRUE(Await([&] { return IsRunning(node); })) << node.ErrSoFar();
  const ProgramRun configured =
      RunProgram({"findings", "--recording", recording, "--state", "--json"});
  EXPECT_EQ(configured.exit_code, kExitCannotTell) << configured.err;
  EXPECT_THAT(configured.err, HasSubstr("has diagnosed no window of any job yet"));
  const ProgramRun named = RunProgram({"findings", "--state", recording + ".state"});
  EXPECT_EQ(named.exit_code, kExitCannotTell) << named.err;
  node.Signal(SIGTERM);
  EXPECT_EQ(node.Wait().exit_code, kExitNothingFound) << "reading did not disturb it";
}

TEST(NodeProgram, AFolderThatCannotBeMadeIsNamed) {
  const ScratchDirectory folder;
  WriteBytes(folder.path() + "/file", "");
  const std::string below_a_file = folder.path() + "/file/below";
  const ProgramRun state =
      RunProgram({"node", "--recording", folder.path() + "/recording", "--state", below_a_file});
  EXPECT_EQ(state.exit_code, kExitError);
  EXPECT_THAT(state.err, HasSubstr(below_a_file));
  const ProgramRun recording = RunProgram({"node", "--recording", below_a_file});
  EXPECT_EQ(recording.exit_code, kExitError);
  EXPECT_THAT(recording.err, HasSubstr(below_a_file));
}

}  // namespace
}  // namespace eroica

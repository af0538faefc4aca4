// `eroica check` from outside: whatever this machine has, its answer is whole and agrees with its
// exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

std::set<std::string> SourcesOf(const nlohmann::json& answer) {
  std::set<std::string> sources;
  for (const auto& source : answer["sources"]) sources.insert(source["source"].get<std::string>());
  return sources;
}

TEST(CheckProgram, SaysOfEverySourceWhetherAndWhy) {
  const ScratchDirectory folder;
  const ProgramRun run =
      RunProgram({"check", "--json", "--recording", folder.path() + "/not/there/yet"});
  const nlohmann::json answer = nlohmann::json::parse(run.out);
  EXPECT_EQ(run.exit_code, answer["can_capture"].get<bool>() ? 0 : 1) << run.err;
  EXPECT_EQ(SourcesOf(answer),
            (std::set<std::string>{"core", "recording", "python", "pytorch", "stacks", "cupti",
                                   "nccl", "host", "sockets", "nvml", "launcher"}));
  for (const auto& source : answer["sources"])
    EXPECT_FALSE(source["why"].get<std::string>().empty()) << source;
  EXPECT_EQ(answer["sources"][0]["capture"], "yes") << answer["sources"][0];
  EXPECT_EQ(answer["sources"][1]["capture"], "yes") << answer["sources"][1];
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "it only asks";
}

TEST(CheckProgram, TextHasALineASource) {
  const ProgramRun run = RunProgram({"check"});
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("\npython  "), HasSubstr("\nlauncher  "), HasSubstr("captured")));
}

TEST(CheckProgram, APlaceBelowAFileCannotBeWritten) {
  const ScratchDirectory folder;
  WriteBytes(folder.path() + "/file", "");
  const ProgramRun run = RunProgram({"check", "--recording", folder.path() + "/file/below"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("recording  no"));
}

TEST(CheckProgram, AKafkaThatIsNotThere) {
  const ProgramRun run = RunProgram({"check", "--kafka", "127.0.0.1:1"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("kafka      no      127.0.0.1:1: "));
}

TEST(CheckProgram, WrongOptionsAreAnError) {
  EXPECT_EQ(RunProgram({"check", "--kafka", "a:1", "--recording", "b"}).exit_code, kExitError);
  EXPECT_EQ(RunProgram({"check", "--nonsense"}).exit_code, kExitError);
}

}  // namespace
}  // namespace eroica

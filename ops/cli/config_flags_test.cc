#include "ops/cli/config_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

class ConfigFlagsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"EROICA_CONFIG", "EROICA_BOOTSTRAP", "XDG_CONFIG_HOME"})
      ::unsetenv(name);
    ::setenv("HOME", folder_.path().c_str(), 1);
  }
  void TearDown() override { SetUp(); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    WriteBytes(path, text);
    return path;
  }
  static absl::StatusOr<NodeConfig> Load(std::vector<std::string> arguments) {
    CLI::App app;
    ConfigFlags flags;
    flags.AddTo(app);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
    return flags.Load();
  }
  static std::string Prefix(const std::vector<std::string>& arguments) {
    const absl::StatusOr<NodeConfig> config = Load(arguments);
    return config.ok() ? config->node.topic_prefix : std::string(config.status().message());
  }
  static std::string LogOf(const std::vector<std::string>& arguments) {
    const absl::StatusOr<NodeConfig> config = Load(arguments);
    if (!config.ok()) return std::string(config.status().message());
    return config->kafka.bootstrap + "|" + config->node.recording;
  }

  ScratchDirectory folder_;
};

TEST_F(ConfigFlagsTest, AFileIsFoundInTheHomeAndInTheFolderOfConfigurations) {
  EXPECT_EQ(Prefix({}), "eroica");
  Write(".config/eroica/config.toml", "[node]\ntopic_prefix = \"home\"\n");
  EXPECT_EQ(Prefix({}), "home");
  Write("xdg/eroica/config.toml", "[node]\ntopic_prefix = \"xdg\"\n");
  ::setenv("XDG_CONFIG_HOME", (folder_.path() + "/xdg").c_str(), 1);
  EXPECT_EQ(Prefix({}), "xdg");
}

TEST_F(ConfigFlagsTest, EachPlaceBeatsTheOneBefore) {
  Write(".config/eroica/config.toml", "[node]\ntopic_prefix = \"home\"\n");
  const std::string variable = Write("variable.toml", "[node]\ntopic_prefix = \"variable\"\n");
  ::setenv("EROICA_CONFIG", variable.c_str(), 1);
  EXPECT_EQ(Prefix({}), "variable");
  const std::string named = Write("named.toml", "[node]\ntopic_prefix = \"named\"\n");
  EXPECT_EQ(Prefix({"--config", named}), "named");
  const std::vector<std::string> set = {"--config", named, "--set", "node.topic_prefix=set"};
  EXPECT_EQ(Prefix(set), "set");
  std::vector<std::string> flag = set;
  flag.insert(flag.end(), {"--topic-prefix", "flag"});
  EXPECT_EQ(Prefix(flag), "flag");
}

TEST_F(ConfigFlagsTest, AnEmptyVariableMeansNoFileAndAMissingFileIsSaid) {
  Write(".config/eroica/config.toml", "[node]\ntopic_prefix = \"home\"\n");
  ::setenv("EROICA_CONFIG", "", 1);
  EXPECT_EQ(Prefix({}), "eroica");
  ::setenv("EROICA_CONFIG", "no/such/file.toml", 1);
  EXPECT_THAT(Prefix({}), HasSubstr("no/such/file.toml"));
}

TEST_F(ConfigFlagsTest, TheBrokersOfTheEnvironmentBeatAFileAndYieldToFlags) {
  const std::string file = Write("file.toml", "[kafka]\nbootstrap = \"file:1\"\n");
  EXPECT_EQ(LogOf({"--config", file}), "file:1|");
  ::setenv("EROICA_BOOTSTRAP", "variable:1", 1);
  EXPECT_EQ(LogOf({"--config", file}), "variable:1|");
  EXPECT_EQ(LogOf({"--set", "kafka.bootstrap=set:1"}), "set:1|");
  EXPECT_EQ(LogOf({"--set", "node.recording=set/"}), "|set/");
  EXPECT_EQ(LogOf({"--bootstrap", "flag:1"}), "flag:1|");
  EXPECT_EQ(LogOf({"--recording", "flag/"}), "|flag/");
  const std::string recording = Write("recording.toml", "[node]\nrecording = \"file/\"\n");
  EXPECT_EQ(LogOf({"--config", recording}), "variable:1|");
}

TEST_F(ConfigFlagsTest, AnAssignmentIsNoFileWithLines) {
  EXPECT_EQ(Prefix({"--set", "runtime.poll_recrods_max=1"}),
            "--set runtime.poll_recrods_max: unknown key 'runtime.poll_recrods_max'; did you mean "
            "'runtime.poll_records_max'?");
}

}  // namespace
}  // namespace eroica

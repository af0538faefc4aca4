#include "producers/core/producer_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<ProducerConfig> Read(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) names.push_back(name);
  return ReadProducerConfig(
      [&](const std::string& name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
      },
      names);
}

TEST(ProducerConfig, RankAndWorldComeFromWhoeverLaunched) {
  EXPECT_EQ(Read({{"RANK", "3"}, {"WORLD_SIZE", "8"}})->rank, 3);
  EXPECT_EQ(Read({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "16"}})->world_size, 16);
  EXPECT_EQ(Read({{"OMPI_COMM_WORLD_RANK", "1"}})->rank, 1);
  EXPECT_EQ(Read({{"RANK", "3"}, {"EROICA_RANK", "7"}})->rank, 7);
  EXPECT_EQ(Read({{"RANK", "three"}, {"PMI_RANK", "2"}})->rank, 2);
  EXPECT_EQ(Read({})->rank, -1);
}

TEST(ProducerConfig, AProcessThatTakesARankOverIsToldWhichStepIsItsFirst) {
  EXPECT_EQ(Read({})->first_step, 0);
  EXPECT_EQ(Read({{"EROICA_FIRST_STEP", "120"}})->first_step, 120);
}

TEST(ProducerConfig, AValueThatCannotBeNamesItsVariable) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"EROICA_LEVEL", "3"},
                                                                      {"EROICA_WINDOW_STEPS", "0"},
                                                                      {"EROICA_WINDOW_STEPS ", ""},
                                                                      {"EROICA_RANKS", "every 0"},
                                                                      {"EROICA_HOST_HZ", "fast"},
                                                                      {"EROICA_DISABLE", "maybe"},
                                                                      {"EROICA_FIRST_STEP", "-1"},
                                                                      {"EROICA_RANK", "-1"}}) {
    if (name.ends_with(' ')) continue;
    const auto config = Read({{name, value}});
    ASSERT_FALSE(config.ok()) << name;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr(name));
  }
  EXPECT_FALSE(Read({{"EROICA_RECORDING", "here"}, {"EROICA_BOOTSTRAP", "there:9092"}}).ok());
}

TEST(ProducerConfig, SecretsAreNotRepeated) {
  const auto config = Read({{"EROICA_KAFKA", "sasl.password"}});
  ASSERT_FALSE(config.ok());
  const auto wrong = Read({{"EROICA_KAFKA", "a=b;=hunter2"}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(std::string(wrong.status().message()), Not(HasSubstr("hunter2")));
  EXPECT_EQ(Read({{"EROICA_KAFKA", "a=b;c=d=e"}})->kafka_properties.at("c"), "d=e");
}

TEST(ProducerConfig, ASecretMayBeInAFile) {
  const std::string path = ::testing::TempDir() + "eroica_producer_secret_test.txt";
  std::ofstream(path) << "hunter2\n";
  const auto config = Read({{"EROICA_KAFKA", "sasl.username=u;sasl.password_file=" + path}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->kafka_properties, (std::map<std::string, std::string>{
                                          {"sasl.username", "u"}, {"sasl.password", "hunter2"}}));
  EXPECT_THAT(std::string(Read({{"EROICA_KAFKA", "a_file=no/such/file"}}).status().message()),
              HasSubstr("no/such/file"));
}

TEST(ProducerConfig, APipeKeepsNoRankWaitingForItsSecret) {
  const std::string pipe = ::testing::TempDir() + "eroica_producer_secret_test.pipe";
  ::unlink(pipe.c_str());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const absl::Status status = Read({{"EROICA_KAFKA", "sasl.password_file=" + pipe}}).status();
  ::unlink(pipe.c_str());
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(pipe), HasSubstr("it is a pipe")));
}

TEST(ProducerConfig, AVariableThatNobodyKnowsIsNamed) {
  EXPECT_THAT(Read({{"EROICA_LEVLE", "1"}, {"EROICA_PYTHON_HZ", "10"}, {"PATH", "x"}})->unknown,
              ElementsAre("EROICA_LEVLE"));
}

TEST(ProducerConfig, LevelOneIsTheDefaultOverKafkaOnly) {
  EXPECT_EQ(Read({{"EROICA_BOOTSTRAP", "b:9092"}})->level, 1);
  EXPECT_EQ(Read({{"EROICA_RECORDING", "r"}})->level, 2);
  EXPECT_EQ(Read({{"EROICA_BOOTSTRAP", "b:9092"}, {"EROICA_LEVEL", "0"}})->level, 0);
}

TEST(SelectsRank, AllSomeAndListed) {
  EXPECT_TRUE(*SelectsRank("all", 9));
  EXPECT_TRUE(*SelectsRank("every 8", 16));
  EXPECT_FALSE(*SelectsRank("every 8", 17));
  EXPECT_TRUE(*SelectsRank("0,8,16-23", 20));
  EXPECT_FALSE(*SelectsRank("0,8,16-23", 24));
  for (const char* wrong : {"", "some", "5-3", "1,,2", "every", "1-"})
    EXPECT_FALSE(SelectsRank(wrong, 0).ok()) << wrong;
}

}  // namespace
}  // namespace eroica

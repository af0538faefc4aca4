#include "ops/config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

absl::Status Apply(std::string_view text, NodeConfig* config) {
  return ApplyConfigText(text, "node.toml", config);
}

std::string ErrorOf(std::string_view text) {
  NodeConfig config;
  return std::string(Apply(text, &config).message());
}

TEST(ConfigFile, ReadsEveryTypeOfOption) {
  NodeConfig config;
  ASSERT_TRUE(Apply("[node]\nroles = [\"align\"]\ntopic_prefix = "
                    "\"here\"\n[runtime]\nidle_timeout_ms = 500\n[topics]\nevents_partitions = 3\n",
                    &config)
                  .ok());
  EXPECT_THAT(config.node.roles, ElementsAre("align"));
  EXPECT_EQ(config.node.topic_prefix, "here");
  EXPECT_EQ(config.runtime.idle_timeout_ms, 500);
  EXPECT_EQ(config.topics.events_partitions, 3);
}

TEST(ConfigFile, ANumberMayBeWrittenAsAnInteger) {
  NodeConfig config;
  ASSERT_TRUE(
      Apply("[summarize]\nfold_below = 0\n[state]\nsurvive_power_loss = true\n", &config).ok());
  EXPECT_EQ(config.summarize.fold_below, 0);
  EXPECT_TRUE(config.state.survive_power_loss);
  ASSERT_TRUE(Apply("[summarize]\nfold_below = 0.25\n", &config).ok());
  EXPECT_EQ(config.summarize.fold_below, 0.25);
  EXPECT_EQ(ErrorOf("[summarize]\nfold_below = 1.5\n"),
            "node.toml:2: summarize.fold_below is 1.5, but must be 0 to 1 share of the window");
  EXPECT_THAT(ErrorOf("[summarize]\nfold_below = nan\n"), HasSubstr("must be 0 to 1"));
  EXPECT_THAT(ErrorOf("[runtime]\nidle_timeout_ms = 500.5\n"),
              HasSubstr("is a number, but must be an integer"));
}

TEST(ConfigFile, PassesPropertiesThroughQuotedOrDotted) {
  NodeConfig config;
  ASSERT_TRUE(Apply("[kafka.properties]\n\"security.protocol\" = \"SSL\"\nfetch.wait.max.ms = "
                    "50\nenable.idempotence = true\n",
                    &config)
                  .ok());
  EXPECT_THAT(config.kafka.properties,
              ElementsAre(Pair("enable.idempotence", "true"), Pair("fetch.wait.max.ms", "50"),
                          Pair("security.protocol", "SSL")));
}

TEST(ConfigFile, UnknownKeyNamesLineAndNearestKey) {
  EXPECT_EQ(
      ErrorOf("[runtime]\npoll_records_max = 5\nidle_timout_ms = 500\n"),
      "node.toml:3: unknown key 'runtime.idle_timout_ms'; did you mean 'runtime.idle_timeout_ms'?");
}

TEST(ConfigFile, UnknownSectionIsAnUnknownKey) {
  EXPECT_THAT(ErrorOf("\n[zzz]\nx = 1\n"), AllOf(StartsWith("node.toml:2: unknown key 'zzz'"),
                                                 HasSubstr("eroica config print")));
}

TEST(ConfigFile, OutOfRangeNamesBoundsAndUnit) {
  EXPECT_EQ(ErrorOf("[runtime]\nidle_timeout_ms = 99\n"),
            "node.toml:2: runtime.idle_timeout_ms is 99, but must be 100 to 3600000 ms");
}

TEST(ConfigFile, WrongTypeShowsAnExample) {
  EXPECT_EQ(
      ErrorOf("[runtime]\nidle_timeout_ms = \"1s\"\n"),
      "node.toml:2: runtime.idle_timeout_ms is a string, but must be an integer, such as 2000");
  EXPECT_THAT(ErrorOf("[runtime]\nidle_timeout_ms = 1979-05-27\n"),
              HasSubstr("must be an integer"));
  EXPECT_THAT(ErrorOf("[node]\nroles = [1]\n"), HasSubstr("must be a list of strings"));
  EXPECT_THAT(ErrorOf("[kafka.properties]\na = [1]\n"), HasSubstr("must be a table"));
  EXPECT_THAT(ErrorOf("node = 5\n"), HasSubstr("unknown key 'node'"));
}

TEST(ConfigFile, UnknownChoiceListsTheChoices) {
  EXPECT_EQ(ErrorOf("[node]\nroles = [\"align\", \"diagnos\"]\n"),
            "node.toml:2: node.roles is 'diagnos', but must be one of summarize, align, diagnose");
  EXPECT_EQ(ErrorOf("[node]\nroles = []\n"), "node.toml:2: node.roles must not be empty");
}

TEST(ConfigFile, TellsEveryProblemAtOnce) {
  EXPECT_THAT(ErrorOf("[node]\ntopic_prefx = \"a\"\n[runtime]\npoll_timeout_ms = -1\n"),
              AllOf(HasSubstr("node.toml:2:"), HasSubstr("\nnode.toml:4:")));
}

TEST(ConfigFile, BrokenTomlNamesTheLine) {
  EXPECT_THAT(ErrorOf("[node]\ntopic_prefix = \n"), StartsWith("node.toml:2:"));
}

TEST(ConfigFile, MissingFileSaysWhich) {
  NodeConfig config;
  const absl::Status status = ApplyConfigFile("no/such/node.toml", &config);
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no/such/node.toml"));
}

TEST(ConfigFile, AFolderIsNoFile) {
  NodeConfig config;
  EXPECT_TRUE(absl::IsNotFound(ApplyConfigFile("ops", &config)));
}

TEST(ConfigAssignment, TakesTomlAndBareStrings) {
  NodeConfig config;
  ASSERT_TRUE(ApplyAssignment("runtime.idle_timeout_ms=700", &config).ok());
  ASSERT_TRUE(ApplyAssignment("node.topic_prefix=some/folder", &config).ok());
  ASSERT_TRUE(ApplyAssignment("node.roles=[\"align\"]", &config).ok());
  ASSERT_TRUE(ApplyAssignment("kafka.properties.security.protocol=SSL", &config).ok());
  EXPECT_EQ(config.runtime.idle_timeout_ms, 700);
  EXPECT_EQ(config.node.topic_prefix, "some/folder");
  EXPECT_THAT(config.node.roles, ElementsAre("align"));
  EXPECT_THAT(config.kafka.properties, ElementsAre(Pair("security.protocol", "SSL")));
  ASSERT_TRUE(ApplyAssignment("kafka.properties.ssl.ca.location=ca.pem", &config).ok());
  EXPECT_THAT(config.kafka.properties,
              ElementsAre(Pair("security.protocol", "SSL"), Pair("ssl.ca.location", "ca.pem")));
}

TEST(ConfigAssignment, RefusesWhatIsNone) {
  NodeConfig config;
  EXPECT_THAT(std::string(ApplyAssignment("node.topic_prefix", &config).message()),
              HasSubstr("SECTION.KEY=VALUE"));
  EXPECT_THAT(std::string(ApplyAssignment("node.topic_prefx=a", &config).message()),
              HasSubstr("did you mean 'node.topic_prefix'?"));
  EXPECT_FALSE(ApplyAssignment("a b=c", &config).ok());
}

TEST(ConfigFile, WhatIsNoTomlIsNotRepeated) {
  NodeConfig config;
  for (const char* line : {"password=fals3hunter", "password=tunter2", "password = 'a' hunter2"}) {
    const absl::Status status = ApplyConfigText(line, "node.toml", &config);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("no TOML: "));
    EXPECT_THAT(std::string(status.message()), ::testing::Not(::testing::HasSubstr("saw")));
  }
}

}  // namespace
}  // namespace eroica

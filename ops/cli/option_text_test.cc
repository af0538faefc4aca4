#include "ops/cli/option_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(OptionText, SaysMeaningUnitDefaultAndBounds) {
  const std::vector<const Option*> options = OptionsNamed("runtime.idle_timeout_ms");
  ASSERT_THAT(options, SizeIs(1));
  const std::string text = OptionText(*options[0], 80);
  EXPECT_THAT(text, HasSubstr("runtime.idle_timeout_ms\n"));
  EXPECT_THAT(text, HasSubstr("unit      ms\n"));
  EXPECT_THAT(text, HasSubstr("default   " + ToToml(options[0]->get(NodeConfig())) + "\n"));
  EXPECT_THAT(text, HasSubstr("allowed   100 to 3600000\n"));
  EXPECT_THAT(text, HasSubstr("[runtime]\n"));
  const nlohmann::json object = nlohmann::json::parse(OptionJson(*options[0]));
  EXPECT_EQ(object.at("key"), "runtime.idle_timeout_ms");
  EXPECT_EQ(object.at("unit"), "ms");
  EXPECT_EQ(object.at("min"), 100);
}

TEST(OptionText, ChoicesAreNamed) {
  EXPECT_THAT(OptionText(*OptionsNamed("node.log_level").at(0), 80),
              HasSubstr("allowed   one of debug, info, warn, error, off\n"));
}

TEST(OptionText, ASectionIsAllItsKeys) {
  const std::vector<const Option*> health = OptionsNamed("health");
  EXPECT_THAT(health, SizeIs(3));
  for (const Option* option : health) EXPECT_THAT(option->name, ::testing::StartsWith("health."));
  EXPECT_THAT(OptionsNamed("none"), IsEmpty());
  EXPECT_THAT(OptionsNamed(""), IsEmpty());
}

TEST(OptionText, EveryOptionIsExplainedWithinTheWidth) {
  for (const Option& option : NodeOptions()) {
    ASSERT_EQ(OptionsNamed(option.name).at(0), &option);
    EXPECT_NE(nlohmann::json::parse(OptionJson(option)).at("meaning"), "") << option.name;
  }
}

TEST(OptionText, WhatIsNearIsNamed) {
  EXPECT_THAT(NoSuchOptionText("runtime.idle_timeot_ms"),
              HasSubstr("did you mean 'runtime.idle_timeout_ms'?"));
  EXPECT_THAT(NoSuchOptionText("kafke"), HasSubstr("did you mean 'kafka'?"));
}

TEST(ConfigToJson, HasEveryKeyAndNoSecret) {
  NodeConfig config;
  config.kafka.properties = {{"sasl.password", "hunter2"}, {"sasl.password_file", "/path"}};
  const std::string text = ConfigToJson(config);
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  const nlohmann::json object = nlohmann::json::parse(text);
  EXPECT_EQ(object.at("kafka.properties").at("sasl.password"), "(secret)");
  EXPECT_EQ(object.at("kafka.properties").at("sasl.password_file"), "/path");
  EXPECT_THAT(object, SizeIs(NodeOptions().size()));
}

}  // namespace
}  // namespace eroica

#include "ops/config/config_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "ops/config/config_file.h"
#include "ops/config/option.h"
#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ConfigText, PrintedConfigurationReadsBackAsItself) {
  NodeConfig config;
  config.node.roles = {"diagnose"};
  config.node.topic_prefix = "a \"quoted\" \\ folder\n";
  config.runtime.idle_timeout_ms = 12'345;
  config.kafka.properties = {{"security.protocol", "SSL"}, {"sasl.password_file", "secret.txt"}};
  const std::string text = ConfigToToml(config);
  NodeConfig read;
  const absl::Status status = ApplyConfigText(text, "printed", &read);
  ASSERT_TRUE(status.ok()) << status << "\n" << text;
  EXPECT_EQ(ConfigToToml(read), text);
  EXPECT_EQ(read.node.topic_prefix, config.node.topic_prefix);
  EXPECT_EQ(read.kafka.properties, config.kafka.properties);
}

TEST(ConfigText, NeverShowsASecret) {
  NodeConfig config;
  config.kafka.properties = {{"sasl.password", "hunter2"}, {"security.protocol", "SASL_SSL"}};
  const std::string text = ConfigToToml(config);
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_THAT(text, HasSubstr("# \"sasl.password\" = (secret)"));
}

TEST(ConfigText, ReferencePageIsWhatTheDeclarationsSay) {
  std::ifstream file("docs/reference/config.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), ConfigReference())
      << "make it anew: eroica node --print-config-reference > docs/reference/config.md";
}

TEST(NodeOptions, EveryDefaultIsAllowed) {
  for (const Option& option : NotEmpty(NodeOptions()))
    EXPECT_TRUE(Check(option, option.get(NodeConfig())).ok()) << option.name;
}

TEST(NodeOptions, EveryNameStandsOnceInItsSection) {
  std::set<std::string> names;
  std::set<std::string> closed_sections;
  std::string section;
  for (const Option& option : NotEmpty(NodeOptions())) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.doc.empty()) << option.name;
    const std::string own = option.name.substr(0, option.name.rfind('.'));
    if (own != section) {
      EXPECT_TRUE(closed_sections.insert(own).second) << own << " stands in two places";
      section = own;
    }
  }
}

TEST(NodeOptions, WhatIsSetIsWhatIsRead) {
  for (const Option& option : NodeOptions()) {
    NodeConfig config;
    OptionValue value = option.get(config);
    if (auto* number = std::get_if<int64_t>(&value)) *number = static_cast<int64_t>(option.max);
    if (auto* number = std::get_if<double>(&value)) *number = option.max;
    if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
    if (auto* text = std::get_if<std::string>(&value))
      *text = option.choices.empty() ? "other" : option.choices.back();
    if (auto* list = std::get_if<std::vector<std::string>>(&value)) *list = {option.choices.back()};
    if (auto* table = std::get_if<OptionTable>(&value)) *table = {{"a", "b"}};
    option.set(&config, value);
    EXPECT_EQ(option.get(config), value) << option.name;
    // And nothing else has moved.
    for (const Option& other : NodeOptions()) {
      if (&other == &option) continue;
      EXPECT_EQ(other.get(config), other.get(NodeConfig()))
          << option.name << " moved " << other.name;
    }
  }
}

TEST(ConfigText, TheValueOfAMistypedSecretIsNotPrinted) {
  NodeConfig config;
  config.kafka.properties = {{"sasl.pasword", "hunter2"}, {"client.id", "night"}};
  const std::string text = ConfigToToml(config);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("hunter2")), HasSubstr("sasl.pasword"),
                          HasSubstr("\"client.id\" = \"night\"")));
}

}  // namespace
}  // namespace eroica

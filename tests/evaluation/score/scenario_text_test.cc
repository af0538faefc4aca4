#include "tests/evaluation/score/scenario_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/evaluation/score/scenario_key.h"

namespace eroica {
namespace {

TEST(ScenarioText, ReferencePageIsWhatTheDeclarationsSay) {
  std::ifstream file("docs/reference/scenario.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), ScenarioReference())
      << "make it anew: eroica-lab simulate --print-scenario-reference > "
         "docs/reference/scenario.md";
}

template <typename Target>
void ExpectEachKeySetsItselfOnly(const std::vector<FileKey<Target>>& keys) {
  std::set<std::string> names;
  for (const FileKey<Target>& key : keys) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.doc.empty()) << key.name;
    Target target;
    OptionValue value = key.get(target);
    if (auto* number = std::get_if<int64_t>(&value)) *number = *number == 1 ? 2 : 1;
    if (auto* number = std::get_if<double>(&value)) *number += 1;
    if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
    if (key.name == "kind" || key.name == "kinds") continue;  // of names, see scenario_file_test.cc
    if (auto* text = std::get_if<std::string>(&value)) *text = "other";
    if (auto* list = std::get_if<std::vector<std::string>>(&value)) *list = {"3", "5"};
    ASSERT_TRUE(key.set(&target, value).ok()) << key.name;
    EXPECT_EQ(key.get(target), value) << key.name;
    for (const FileKey<Target>& other : keys) {
      if (&other != &key) {
        EXPECT_EQ(other.get(target), other.get(Target())) << key.name << " moved " << other.name;
      }
    }
  }
}

TEST(ScenarioKeys, WhatIsSetIsWhatIsReadAndNothingElseHasMoved) {
  ExpectEachKeySetsItselfOnly(ScenarioKeys());
  ExpectEachKeySetsItselfOnly(FaultKeys());
  ExpectEachKeySetsItselfOnly(ExpectedKeys());
}

}  // namespace
}  // namespace eroica

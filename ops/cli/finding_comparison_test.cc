#include "ops/cli/finding_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Finding Example(const std::string& id) {
  Finding finding;
  finding.id = id;
  finding.job = JobId("night");
  finding.title = "Rank 3 is slow.";
  finding.severity = Severity::kMajor;
  finding.evidence = {{"busy_time_per_step", "ns", 126e6, 88e6, 92e6, 32},
                      {"slow_steps", "count", 31, 0, 0, 32}};
  return finding;
}

TEST(FindingComparison, TheWallClockAndTheReplayAreNoDifference) {
  Finding replayed = Example("a");
  replayed.emitted_at_ns = 77;
  replayed.replay_id = "r1";
  const FindingComparison comparison = CompareFindings({Example("a")}, {replayed});
  EXPECT_TRUE(comparison.equal());
  EXPECT_EQ(comparison.same.size(), 1u);
}

TEST(FindingComparison, NewAndGoneAreTold) {
  const FindingComparison comparison =
      CompareFindings({Example("a"), Example("b")}, {Example("b"), Example("c")});
  EXPECT_FALSE(comparison.equal());
  ASSERT_EQ(comparison.gone.size(), 1u);
  EXPECT_EQ(comparison.gone[0].id, "a");
  ASSERT_EQ(comparison.added.size(), 1u);
  EXPECT_EQ(comparison.added[0].id, "c");
  const std::string text = ComparisonText(comparison, "one", "two");
  EXPECT_THAT(text, HasSubstr("one -> two: 1 same, 1 new, 1 gone, 0 changed"));
  EXPECT_THAT(text, AllOf(HasSubstr("\n  = major    b"), HasSubstr("\n  + major    c"),
                          HasSubstr("\n  - major    a")));
}

TEST(FindingComparison, WhatHasChangedIsNamedWithItsEvidenceSideBySide) {
  Finding after = Example("a");
  after.severity = Severity::kMinor;
  after.evidence[0].culprit = 100e6;
  after.evidence.pop_back();
  const FindingComparison comparison = CompareFindings({Example("a")}, {after});
  ASSERT_EQ(comparison.changed.size(), 1u);
  std::vector<std::string> fields;
  for (const auto& field : comparison.changed[0].fields) fields.push_back(field.name);
  EXPECT_THAT(fields, ::testing::UnorderedElementsAre("severity", "evidence"));
  const std::string text = ComparisonText(comparison, "one", "two");
  EXPECT_THAT(text, HasSubstr("severity: major\n        now: minor"));
  EXPECT_THAT(text,
              ::testing::ContainsRegex("busy_time_per_step +126 ms +100 ms +88.0 ms +88.0 ms"));
  EXPECT_THAT(text, ::testing::ContainsRegex("slow_steps +31 +- +0 +-"));
}

TEST(FindingComparison, IsAlsoOneJsonObject) {
  Finding after = Example("a");
  after.confidence = 0.5;
  const auto json = nlohmann::json::parse(
      ComparisonJson(CompareFindings({Example("a"), Example("b")}, {after, Example("c")})));
  EXPECT_FALSE(json.at("equal").get<bool>());
  EXPECT_EQ(json.at("changed").at(0).at("fields"), nlohmann::json({"confidence"}));
  EXPECT_EQ(json.at("changed").at(0).at("after").at("confidence"), 0.5);
  EXPECT_EQ(json.at("new").at(0).at("id"), "c");
  EXPECT_EQ(json.at("gone").at(0).at("id"), "b");
}

TEST(FindingComparison, NamesDoNotMoveTheCursor) {
  Finding evil = Example("a");
  evil.job = JobId("\x1b[2Jnight");
  evil.title = "\x1b]0;x\x07title";
  Finding changed = evil;
  changed.explanation = "\x1b[31m";
  for (const auto& comparison : {CompareFindings({evil}, {}), CompareFindings({evil}, {changed}),
                                 CompareFindings({evil}, {evil})}) {
    EXPECT_THAT(ComparisonText(comparison, "\x1bone", "two"), Not(HasSubstr("\x1b")));
    EXPECT_THAT(ComparisonJson(comparison), Not(HasSubstr("\x1b")));
  }
}

}  // namespace
}  // namespace eroica

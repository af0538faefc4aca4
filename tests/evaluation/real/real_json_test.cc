#include "tests/evaluation/real/real_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/evaluation/score/testing/scored_runs.h"

namespace eroica {
namespace {

TEST(RealJson, HoldsEveryRunAndTheTotals) {
  RealRun run{.job = "slow"};
  run.variation = {.window_steps = 2, .part = RecordedPart::kHalf, .ranks = {0, 2}};
  run.culprit_recorded = false;
  run.expected = {testing::SlowRank(1).expected};
  run.said = {testing::Says(FindingKind::kSlowRank, 2)};
  run.said[0].finding.title = "Rank 2 is slow.";
  run.gaps = {.sentences = {"Ranks 1 and 3 are not recorded."}, .undecided = true};
  run.verdict = {.outcome = RealOutcome::kWrong, .wrong = {true}};
  const nlohmann::json json = nlohmann::json::parse(RealJson({&run, 1}));
  EXPECT_EQ(json.at("totals").at("half, culprit out").at("wrong"), 1);
  EXPECT_EQ(json.at("totals").at("half").at("wrong"), 0);
  const nlohmann::json& one = json.at("runs").at(0);
  EXPECT_EQ(one.at("job"), "slow");
  EXPECT_EQ(one.at("window"), "2 steps");
  EXPECT_EQ(one.at("recorded"), "half, culprit out");
  EXPECT_EQ(one.at("ranks"), (nlohmann::json{0, 2}));
  EXPECT_EQ(one.at("outcome"), "wrong");
  EXPECT_EQ(one.at("expected").at(0), "slow_rank of rank 1 in gemm");
  EXPECT_EQ(one.at("said").at(0).at("title"), "Rank 2 is slow.");
  EXPECT_EQ(one.at("said").at(0).at("wrong"), true);
  EXPECT_EQ(one.at("cannot_tell"), false) << "there is a finding";
  EXPECT_EQ(one.at("left_open").at(0), "Ranks 1 and 3 are not recorded.");
}

TEST(RealJson, TakesNamesThatAreNoUtf8) {
  RealRun run{.job = "slow"};
  run.said = {testing::Says(FindingKind::kSlowRank, 2)};
  run.said[0].finding.title = "\xff";
  run.verdict.wrong = {false};
  EXPECT_FALSE(nlohmann::json::parse(RealJson({&run, 1}), nullptr, false).is_discarded());
}

}  // namespace
}  // namespace eroica

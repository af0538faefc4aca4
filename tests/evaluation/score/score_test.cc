#include "tests/evaluation/score/score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/evaluation/score/score_json.h"
#include "tests/evaluation/score/testing/scored_runs.h"

namespace eroica {
namespace {

using testing::Faulty;
using testing::Healthy;
using testing::Judged;
using testing::Says;
using testing::SlowRank;
using enum FindingKind;

std::vector<ScoredRun> SomeRuns() {
  return {
      Judged(Faulty(1), {SlowRank(5)}, {Says(kSlowRank, 5, 0.95, "gemm", 1)}),
      Judged(Faulty(2), {SlowRank(5)}, {Says(kSlowRank, 5, 0.95, "conv")}),
      Judged(Faulty(3), {SlowRank(5)}, {Says(kContention, 5, 0.6)}),
      Judged(Faulty(4), {SlowRank(5)}, {}),
      Judged(Faulty(5), {SlowRank(5)}, {Says(kSlowRank, 6, 0.7)}),
      Judged(Faulty(1, 1024, 0.02), {SlowRank(5), SlowRank(9)},
             {Says(kSlowRank, 5), Says(kSlowRank, 9)}),
      Judged(Healthy(1), {}, {}),
      Judged(Healthy(2), {}, {Says(kImbalance, -1, 0.5)}),
  };
}

TEST(Score, CountsWhatWasFound) {
  const std::vector<MethodScore> scores = Score(SomeRuns());
  ASSERT_EQ(scores.size(), 1u);
  const FaultCounts& total = scores[0].total;
  EXPECT_EQ(total.runs, 6u);
  EXPECT_EQ(total.faults, 7u);
  EXPECT_EQ(total.found, 5u);
  EXPECT_EQ(total.right_rank, 5u);
  EXPECT_EQ(total.right_function, 4u);
  EXPECT_EQ(total.right_kind, 4u);
  EXPECT_EQ(total.right, 3u);
  EXPECT_EQ(total.false_findings, 1u);
  EXPECT_EQ(total.windows, (std::vector<int64_t>{1, 1, 2, 1}))
      << "by scenario and seed, each fault whose culprit was named";
}

TEST(Score, KeepsQuietJobsApart) {
  const MethodScore score = Score(SomeRuns()).at(0);
  EXPECT_EQ(score.quiet_total.runs, 2u);
  EXPECT_EQ(score.quiet_total.runs_disturbed, 1u);
  EXPECT_EQ(score.quiet_total.false_findings, 1u);
  EXPECT_DOUBLE_EQ(score.quiet_total.job_hours, 4);
  EXPECT_EQ(score.quiet.count({.family = "healthy", .scale = 1}), 1u);
}

TEST(Score, AJobThatNeedsNothingIsQuiet) {
  Truth optional{.expected = {.kinds = {kImbalance}, .optional = true}};
  const MethodScore score =
      Score(std::vector<ScoredRun>{
                Judged(Healthy(1), {optional}, {}),
                Judged(Healthy(2), {optional}, {Says(kImbalance, -1, 0.95)}),
                Judged(Healthy(3), {optional}, {Says(kSlowRank, 3, 0.95)}),
                Judged(Faulty(1), {SlowRank(5), optional}, {Says(kSlowRank, 5, 0.95)})})
          .at(0);
  EXPECT_EQ(score.quiet_total.runs, 3u);
  EXPECT_EQ(score.quiet_total.false_findings, 1u);
  EXPECT_EQ(score.total.runs, 1u);
  EXPECT_EQ(score.total.faults, 1u);
  EXPECT_EQ(score.total.right, 1u);
  EXPECT_EQ(score.confidence[5].said, 3u);
  EXPECT_EQ(score.confidence[5].right, 2u);
  EXPECT_EQ(score.confusion.at("imbalance").at("imbalance"), 1u);
  EXPECT_EQ(score.confusion.at("imbalance").count("nothing"), 0u);
}

TEST(Score, DividesByScaleAndEffect) {
  const MethodScore score = Score(SomeRuns()).at(0);
  EXPECT_EQ(score.by_scale[0].runs, 5u);
  EXPECT_EQ(score.by_scale[2].faults, 2u);
  EXPECT_EQ(score.by_effect[static_cast<size_t>(EffectClass::kLarge)].runs, 5u);
  EXPECT_EQ(score.by_effect[static_cast<size_t>(EffectClass::kMiddle)].right, 2u);
  EXPECT_EQ(score.families.size(), 2u);
}

TEST(Score, EachFaultCountsByWhatItCostsAlone) {
  ScoredRun run = Judged(Faulty(1, 64, 0.1), {SlowRank(5), SlowRank(9)},
                         {Says(kSlowRank, 9), Says(kSlowRank, 6)});
  run.truths[0].effect = 0.02;
  const auto by_effect = Score(std::vector<ScoredRun>{run}).at(0).by_effect;
  const FaultCounts& large = by_effect[static_cast<size_t>(EffectClass::kLarge)];
  const FaultCounts& middle = by_effect[static_cast<size_t>(EffectClass::kMiddle)];
  EXPECT_EQ(large.faults, 1u);
  EXPECT_EQ(large.right, 1u);
  EXPECT_EQ(large.false_findings, 1u);
  EXPECT_EQ(middle.faults, 1u);
  EXPECT_EQ(middle.found, 0u);
  EXPECT_EQ(middle.false_findings, 0u) << "counts with the costlier fault of the run";
}

TEST(Score, TellsKindsApart) {
  auto confusion = Score(SomeRuns()).at(0).confusion;
  EXPECT_EQ(confusion["slow_rank"]["slow_rank"], 4u);
  EXPECT_EQ(confusion["slow_rank"]["contention"], 1u);
  EXPECT_EQ(confusion["slow_rank"]["nothing"], 2u);
  EXPECT_EQ(confusion["nothing"]["slow_rank"], 1u);
  EXPECT_EQ(confusion["nothing"]["imbalance"], 1u);
}

TEST(Score, BinsConfidence) {
  const auto bins = Score(SomeRuns()).at(0).confidence;
  EXPECT_EQ(bins[5].said, 4u) << "0.9 and more";
  EXPECT_EQ(bins[5].right, 3u);
  EXPECT_EQ(bins[3].said, 1u);
  EXPECT_EQ(bins[3].right, 0u);
  EXPECT_EQ(bins[1].said, 1u);
  EXPECT_EQ(bins[2].said, 1u);
}

TEST(Score, TheOrderOfRunsIsNothing) {
  std::vector<ScoredRun> runs = SomeRuns();
  const std::string forward = ScoreJson(Score(runs), {});
  std::reverse(runs.begin(), runs.end());
  EXPECT_EQ(ScoreJson(Score(runs), {}), forward);
}

TEST(Score, OneAMethodInTheirOrder) {
  const std::vector<ScoredRun> runs = {Judged(Faulty(1), {SlowRank(5)}, {}, "zeta"),
                                       Judged(Faulty(1), {SlowRank(5)}, {}, "alpha"),
                                       Judged(Faulty(2), {SlowRank(5)}, {}, "zeta")};
  const std::vector<MethodScore> scores = Score(runs);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0].method, "zeta");
  EXPECT_EQ(scores[0].total.runs, 2u);
}

TEST(Score, ScalesAndEffectsHaveTheirBounds) {
  EXPECT_EQ(ScaleOf(8), 0);
  EXPECT_EQ(ScaleOf(64), 0);
  EXPECT_EQ(ScaleOf(65), 1);
  EXPECT_EQ(ScaleOf(4096), 2);
  EXPECT_EQ(ScaleOf(4097), 3);
  EXPECT_EQ(EffectClassOf(0.03, false), EffectClass::kLarge);
  EXPECT_EQ(EffectClassOf(0.01, false), EffectClass::kMiddle);
  EXPECT_EQ(EffectClassOf(-0.2, false), EffectClass::kSmall);
  EXPECT_EQ(EffectClassOf(std::nullopt, true), EffectClass::kLarge);
  EXPECT_EQ(EffectClassOf(std::nullopt, false), EffectClass::kUnknown);
}

TEST(Median, OfNothingOneAndTwo) {
  EXPECT_EQ(Median({}), -1);
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({4, 1}), 2.5);
}

TEST(ScoreJson, HoldsEveryRun) {
  std::vector<ScoredRun> runs = SomeRuns();
  runs[0].said[0].finding.title = "no \xff UTF-8";
  const nlohmann::json json = nlohmann::json::parse(ScoreJson(Score(runs), runs));
  ASSERT_EQ(json.at("runs").size(), runs.size());
  EXPECT_EQ(json.at("runs")[0].at("right"), true);
  EXPECT_EQ(json.at("runs")[4].at("said")[0].at("false"), true);
  EXPECT_EQ(json.at("methods")[0].at("faults").at("right"), 3);
  EXPECT_EQ(json.at("methods")[0].at("quiet").at("false_findings"), 1);
}

}  // namespace
}  // namespace eroica

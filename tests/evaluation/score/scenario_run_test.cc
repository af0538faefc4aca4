#include "tests/evaluation/score/scenario_run.h"

#include <gtest/gtest.h>

#include <limits>

namespace eroica {
namespace {

using simulate::Fault;
using simulate::SimulationReport;

Scenario WithFaults(std::vector<Fault> faults, std::vector<ExpectedFinding> expected) {
  Scenario scenario{.name = "some faults", .family = "faults", .about = "", .seeds = {1}};
  scenario.job.layout.data = 8;
  scenario.job.steps = 12;
  scenario.job.telemetry.window_steps = 4;
  scenario.job.faults = std::move(faults);
  scenario.expected = std::move(expected);
  return scenario;
}

TEST(TruthsOf, AFaultCountsForWhomItStrikes) {
  const Scenario scenario =
      WithFaults({{.ranks = {1}, .first_step = 3}, {.ranks = {5, 6}, .first_step = 9}},
                 {{.ranks = {6}}, {.ranks = {1}}, {.hosts = {"host"}}});
  const std::vector<Truth> truths = TruthsOf(scenario);
  ASSERT_EQ(truths.size(), 3u);
  EXPECT_EQ(truths[0].first_window, 2);
  EXPECT_EQ(truths[1].first_window, 0);
  EXPECT_EQ(truths[2].first_window, 0) << "strikes nobody that is named: any fault";
}

TEST(TruthsOf, AFindingMaySayWhichFaultItIsAbout) {
  const Scenario scenario = WithFaults(
      {{.ranks = {1}, .first_step = 3}, {.ranks = {0, 1, 2, 3, 4, 5, 6, 7}, .first_step = 9}},
      {{.ranks = {1}, .fault = 0}, {.kinds = {FindingKind::kRegression}, .fault = 1}});
  const std::vector<Truth> truths = TruthsOf(scenario);
  EXPECT_EQ(truths[0].first_window, 0);
  EXPECT_EQ(truths[1].first_window, 2);
}

TEST(TruthsOf, WhatIsNoFaultShowsFromTheBeginning) {
  const std::vector<Truth> truths =
      TruthsOf(WithFaults({}, {{.kinds = {FindingKind::kImbalance}}}));
  ASSERT_EQ(truths.size(), 1u);
  EXPECT_EQ(truths[0].first_window, 0);
}

TEST(TruthsOf, WhatIsOptionalMayBeSaidBeforeAnyFault) {
  const Scenario scenario =
      WithFaults({{.ranks = {1}, .first_step = 9}},
                 {{.ranks = {1}}, {.kinds = {FindingKind::kImbalance}, .optional = true}});
  const std::vector<Truth> truths = TruthsOf(scenario);
  EXPECT_EQ(truths[0].first_window, 2);
  EXPECT_EQ(truths[1].first_window, 0);
  EXPECT_EQ(StepsOf(scenario), 2 * scenario.job.steps) << "no run of its own";
}

SimulationReport Steps(std::vector<int64_t> step_ns) {
  const auto steps = static_cast<uint32_t>(step_ns.size());
  return {.steps = steps, .step_ns = std::move(step_ns)};
}

TEST(EffectOnSteps, ComparesTheStepsInWhichAFaultCanShow) {
  const Scenario scenario = WithFaults({{.ranks = {1}, .first_step = 1, .last_step = 2}}, {});
  const auto effect =
      EffectOnSteps(scenario.job.faults, Steps({100, 150, 250, 900}), Steps({100, 100, 100, 100}));
  ASSERT_TRUE(effect.has_value());
  EXPECT_DOUBLE_EQ(*effect, 1.0);
}

TEST(EffectOnSteps, IsNotKnownWithoutStepsToCompare) {
  const Scenario healthy = WithFaults({}, {});
  EXPECT_FALSE(EffectOnSteps(healthy.job.faults, Steps({1}), Steps({1})).has_value());
  const Scenario late = WithFaults({{.ranks = {1}, .first_step = 7}}, {});
  EXPECT_FALSE(EffectOnSteps(late.job.faults, Steps({1, 1}), Steps({1, 1})).has_value());
  SimulationReport hangs = Steps({1, 1});
  hangs.hangs = true;
  EXPECT_FALSE(
      EffectOnSteps(WithFaults({{.ranks = {1}}}, {}).job.faults, hangs, Steps({1, 1})).has_value());
}

TEST(FirstWindowOfEffect, IsTheFirstWithLongerSteps) {
  const auto first = [](std::vector<int64_t> with, uint32_t first_step) {
    const Scenario scenario = WithFaults({{.ranks = {1}, .first_step = first_step}}, {});
    return FirstWindowOfEffect(scenario.job.faults, Steps(std::move(with)),
                               Steps(std::vector<int64_t>(6, 1000)), 2);
  };
  EXPECT_EQ(first({1000, 1000, 1000, 1000, 1000, 1500}, 0), 2);
  EXPECT_EQ(first({1000, 1030, 1500, 1500, 1500, 1500}, 1), 0);
  EXPECT_EQ(first({1000, 1010, 1500, 1500, 1500, 1500}, 1), 1) << "half a percent of the window";
  EXPECT_EQ(first({1500, 1500, 1000, 1000, 1000, 1500}, 2), 2) << "before it is something else";
  EXPECT_EQ(first({1000, 1000, 1000, 1000, 1000, 1010}, 0), std::nullopt);
  EXPECT_EQ(first({1500, 1500}, 7), std::nullopt);
}

TEST(RunScenario, IsTheSameTwice) {
  const Scenario scenario =
      WithFaults({{.kind = simulate::FaultKind::kGpuSlow, .ranks = {3}, .severity = 0.5}},
                 {{.kinds = {FindingKind::kSlowRank}, .ranks = {3}}});
  const absl::StatusOr<std::vector<Method>> methods = ChooseMethods({kEroicaMethod});
  ASSERT_TRUE(methods.ok());
  uint32_t steps = 0;
  const auto count = [&steps](uint32_t done) {
    EXPECT_GE(done, steps);
    steps = done;
    return absl::OkStatus();
  };
  const auto first = RunScenario(scenario, 7, *methods, count);
  const auto second = RunScenario(scenario, 7, *methods, nullptr);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(steps, StepsOf(scenario));
  ASSERT_EQ(first->size(), 1u);
  EXPECT_TRUE(first->at(0).verdict.right());
  EXPECT_GT(first->at(0).facts.effect.value_or(0), 0.1);
  EXPECT_EQ(first->at(0).facts.effect, second->at(0).facts.effect);
  ASSERT_EQ(first->at(0).said.size(), second->at(0).said.size());
  for (size_t i = 0; i < first->at(0).said.size(); ++i)
    EXPECT_EQ(first->at(0).said[i].finding, second->at(0).said[i].finding);
}

// The slow device hides what the slow loader costs: its own effect is what the job would gain
// without it.
TEST(RunScenario, TellsWhatEachFaultCostsAlone) {
  const Scenario scenario =
      WithFaults({{.kind = simulate::FaultKind::kGpuSlow, .ranks = {3}, .severity = 0.5},
                  {.kind = simulate::FaultKind::kSlowFunction, .ranks = {6}, .severity = 0.1}},
                 {{.kinds = {FindingKind::kSlowRank}, .ranks = {3}},
                  {.kinds = {FindingKind::kSlowRank}, .ranks = {6}}});
  const absl::StatusOr<std::vector<Method>> methods = ChooseMethods({kEroicaMethod});
  ASSERT_TRUE(methods.ok());
  uint32_t steps = 0;
  const auto runs = RunScenario(scenario, 7, *methods, [&steps](uint32_t done) {
    steps = done;
    return absl::OkStatus();
  });
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(steps, StepsOf(scenario));
  EXPECT_EQ(steps, 4 * scenario.job.steps) << "with both, without, and without each";
  const std::vector<Truth>& truths = runs->at(0).truths;
  ASSERT_EQ(truths.size(), 2u);
  EXPECT_GT(truths[0].effect.value_or(0), 0.2);
  EXPECT_LT(truths[1].effect.value_or(1), 0.02);
  EXPECT_GE(runs->at(0).facts.effect.value_or(0), truths[0].effect.value_or(1))
      << "of both together";
}

TEST(RunScenario, EndsWhereProgressFails) {
  const Scenario scenario = WithFaults({}, {});
  const absl::StatusOr<std::vector<Method>> methods = ChooseMethods({});
  const auto runs =
      RunScenario(scenario, 1, *methods, [](uint32_t) { return absl::CancelledError("enough"); });
  EXPECT_EQ(runs.status().code(), absl::StatusCode::kCancelled);
}

TEST(ChooseMethods, SaysWhatThereIs) {
  const auto all = ChooseMethods({});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->front().name, kEroicaMethod);
  EXPECT_GT(all->size(), 1u);
  const auto two = ChooseMethods({all->back().name, kEroicaMethod});
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->front().name, kEroicaMethod);
  const auto none = ChooseMethods({"magic"});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(none.status().message()).find("eroica"), std::string::npos);
}

}  // namespace
}  // namespace eroica

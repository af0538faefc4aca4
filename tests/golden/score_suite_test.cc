// A part of the scored suite that is small enough for every build: what is right stays right.
// tests/scenarios/fast.txt lists the scenarios, tests/scenarios/known_misses.txt those that are
// known not to come out right.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ops/config/text_file.h"
#include "schemas/testing/not_empty.h"
#include "tests/evaluation/score/known_misses.h"
#include "tests/evaluation/score/run_queue.h"
#include "tests/evaluation/score/scenario_file.h"
#include "tests/evaluation/score/scenario_run.h"
#include "tests/evaluation/score/score_tables.h"

namespace eroica {
namespace {

const std::string kFolder = "tests/scenarios/";

// Of lines that are no comments.
std::vector<std::string> FastFiles() {
  const absl::StatusOr<std::string> text = ReadTextFile(kFolder + "fast.txt");
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<std::string> files;
  std::string rest = text.ok() ? *text : "";
  while (!rest.empty()) {
    const std::string line = rest.substr(0, rest.find('\n'));
    rest.erase(0, line.size() + 1);
    if (!line.empty() && line.front() != '#') files.push_back(kFolder + line);
  }
  return files;
}

class ScoreSuite : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const std::string& file : NotEmpty(FastFiles())) {
      absl::StatusOr<Scenario> scenario = ReadScenario(file);
      ASSERT_TRUE(scenario.ok()) << scenario.status();
      scenario->seeds.resize(1);
      scenarios_.push_back(*std::move(scenario));
    }
    const absl::StatusOr<std::vector<Method>> methods = ChooseMethods({kEroicaMethod});
    ASSERT_TRUE(methods.ok());
    std::vector<RunTask> tasks;
    for (const Scenario& scenario : scenarios_) {
      tasks.push_back({.name = scenario.name,
                       .ranks = scenario.job.layout.world_size(),
                       .steps = StepsOf(scenario),
                       .run = [&](const RunProgress& progress) {
                         return RunScenario(scenario, scenario.seeds.front(), *methods, progress);
                       }});
    }
    absl::StatusOr<std::vector<ScoredRun>> runs = RunTasks(tasks, {.threads = 2}, nullptr);
    ASSERT_TRUE(runs.ok()) << runs.status();
    runs_ = *std::move(runs);
    absl::StatusOr<KnownMisses> known = ReadKnownMisses(kFolder + "known_misses.txt");
    ASSERT_TRUE(known.ok()) << known.status();
    known_ = *std::move(known);
  }
  static void TearDownTestSuite() {
    scenarios_.clear();
    runs_.clear();
    known_.clear();
  }

  static std::string WhatIsWrong(const ScoredRun& run) {
    std::string text;
    const TextTable misses = Misses(std::vector<ScoredRun>{run}, run.method, {});
    for (size_t i = 1; i < misses.rows.size(); ++i)
      text += misses.rows[i][1] + ": expected " + misses.rows[i][2] + ", said " +
              misses.rows[i][3] + "\n";
    return text;
  }

  static inline std::vector<Scenario> scenarios_;
  static inline std::vector<ScoredRun> runs_;
  static inline KnownMisses known_;
};

TEST_F(ScoreSuite, HoldsFaultsAndHealthyJobs) {
  const auto healthy = std::count_if(runs_.begin(), runs_.end(),
                                     [](const ScoredRun& run) { return run.truths.empty(); });
  EXPECT_GE(healthy, 5);
  EXPECT_GE(static_cast<long>(runs_.size()) - healthy, 10);
}

TEST_F(ScoreSuite, WhatIsRightStaysRight) {
  for (const ScoredRun& run : runs_) {
    if (known_.contains(run.facts.scenario)) continue;
    EXPECT_TRUE(run.verdict.right()) << run.facts.scenario << "\n" << WhatIsWrong(run);
  }
}

TEST_F(ScoreSuite, HealthyJobsAreSilentWithoutException) {
  for (const ScoredRun& run : runs_) {
    if (run.truths.empty()) {
      EXPECT_EQ(run.verdict.false_findings(), 0u) << run.facts.scenario << "\n" << WhatIsWrong(run);
    }
  }
}

TEST_F(ScoreSuite, KnownMissesAreStillMisses) {
  for (const ScoredRun& run : runs_) {
    if (known_.contains(run.facts.scenario)) {
      EXPECT_FALSE(run.verdict.right())
          << run.facts.scenario << " is right now: take it out of known_misses.txt";
    }
  }
}

TEST_F(ScoreSuite, FaultsCostTime) {
  for (const ScoredRun& run : runs_) {
    const bool is_faulty = std::ranges::any_of(
        run.truths, [](const Truth& truth) { return !truth.expected.optional; });
    if (is_faulty && !run.facts.hangs) {
      ASSERT_TRUE(run.facts.effect.has_value()) << run.facts.scenario;
      EXPECT_GT(*run.facts.effect, 0) << run.facts.scenario;
    }
  }
}

}  // namespace
}  // namespace eroica

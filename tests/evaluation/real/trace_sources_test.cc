#include "tests/evaluation/real/trace_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/evaluation/real/variation.h"
#include "tests/evaluation/score/scenario_file.h"
#include "tests/support/trace_jobs.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Scenario ScenarioOf(const std::string& name) {
  absl::StatusOr<Scenario> scenario = ReadScenario("tests/scenarios/traces/" + name + ".toml");
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  return *std::move(scenario);
}

absl::StatusOr<RealJob> Load(const std::string& name) {
  const std::vector<RealJobSource> sources =
      TraceSources(std::vector{ScenarioOf(name)}, testing::kTraceRoot);
  EXPECT_EQ(sources.size(), 1u);
  return sources.front().load();
}

bool HasFunction(const std::vector<EventBatch>& batches, const std::string& part) {
  return std::ranges::any_of(batches, [&part](const EventBatch& batch) {
    return std::ranges::any_of(batch.functions, [&part](const FunctionDef& function) {
      return function.name.find(part) != std::string::npos;
    });
  });
}

TEST(TraceSources, OneAScenarioOfTraces) {
  Scenario simulated;
  simulated.name = "simulated";
  const std::vector<RealJobSource> sources =
      TraceSources(std::vector{simulated, ScenarioOf("dlrm")}, "no such folder");
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].name, "dlrm");
  EXPECT_FALSE(sources[0].load().ok()) << "there is no such folder";
}

TEST(TraceSources, WithoutStacksAnnotationsStandForPython) {
  if (!testing::HaveTraces())
    GTEST_SKIP() << "the folder of real traces is absent: " << testing::kTraceRoot;
  const absl::StatusOr<RealJob> job = Load("gloo_slow_compute_4r");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(RanksOf(job->batches), ElementsAre(0u, 1u, 2u, 3u));
  EXPECT_EQ(StepCountOf(job->batches), 8u);
  EXPECT_THAT(job->window_steps, ElementsAre(1u, 2u, 4u, kWholeJob));
  EXPECT_TRUE(HasFunction(job->batches, "throttled_layer_extra_work"));
  EXPECT_FALSE(HasFunction(job->batches, "DistributedDataParallel.forward"));
  EXPECT_FALSE(HasFunction(job->without_stacks, "throttled_layer_extra_work"));
  EXPECT_TRUE(HasFunction(job->without_stacks, "DistributedDataParallel.forward"));
}

TEST(TraceSources, DumpsHaveNoStepsAndNoStacks) {
  if (!testing::HaveTraces())
    GTEST_SKIP() << "the folder of real traces is absent: " << testing::kTraceRoot;
  const absl::StatusOr<RealJob> job = Load("gloo_hang_rank2_4r");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(job->without_stacks, IsEmpty());
  EXPECT_THAT(job->window_steps, ElementsAre(kWholeJob));
}

}  // namespace
}  // namespace eroica

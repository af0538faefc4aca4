// Scenarios with a known truth through the whole topology. Each runs in every way that must not
// make a difference; there is one expected output, in expected/NAME.json, a finding a line. To
// accept a change of the findings after having read it: EROICA_UPDATE_GOLDEN=1 ctest -L golden.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/eroica_topology.h"
#include "tests/support/job_builder.h"
#include "tests/support/pipeline.h"
#include "tests/support/trace_jobs.h"

namespace eroica::testing {
namespace {

const std::filesystem::path kExpected = "tests/golden/expected";

struct Scenario {
  std::string name;
  std::vector<JobOptions> jobs;
  // What must stand in the first finding's title or culprits; empty: a healthy job, of which
  // nothing may be said.
  std::vector<std::string> truth;
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

std::vector<Scenario> Scenarios() {
  const JobOptions healthy;
  JobOptions slow_kernel{.fault = JobFault::kSlowKernel, .culprit = 1};
  JobOptions slow_python{.fault = JobFault::kSlowPython, .culprit = 2, .factor = 0.4};
  JobOptions often{.fault = JobFault::kSlowPythonOften, .culprit = 3, .factor = 0.8};
  JobOptions uneven{.fault = JobFault::kDataImbalance, .factor = 1.6};
  JobOptions many{
      .job = "many", .ranks = 130, .steps = 8, .fault = JobFault::kSlowKernel, .culprit = 77};
  JobOptions neighbor{.job = "neighbor", .ranks = 6, .seed = 9};
  JobOptions other{
      .job = "other", .fault = JobFault::kSlowPython, .culprit = 0, .factor = 0.4, .seed = 4};
  // Started three times under one name: in good order, killed, and again with the same pids.
  JobOptions first{.fault = JobFault::kSlowPython, .culprit = 2, .factor = 0.4};
  JobOptions second{.steps = 8, .run = 1, .same_pids = true, .killed = true};
  JobOptions third{.steps = 20,
                   .fault = JobFault::kSlowKernel,
                   .culprit = 1,
                   .seed = 6,
                   .run = 2,
                   .same_pids = true};
  JobOptions again{.seed = 5, .run = 1};
  // Twice as many layers: the job is slower than it was, and rightly so.
  JobOptions small{.steps = 48};
  JobOptions large{.steps = 48, .layers = 12, .run = 1};
  return {
      {"healthy", {healthy}, {}},
      {"healthy_started_again", {healthy, again}, {}},
      {"started_again_with_more_layers", {small, large}, {}},
      {"started_again", {first, second, third}, {R"("rank":1)", R"("rank":2)"}},
      {"slow_kernel", {slow_kernel}, {R"("rank":1)"}},
      {"slow_python", {slow_python}, {R"("rank":2)", "read_record_from_slow_storage"}},
      {"slow_python_every_second_step", {often}, {R"("rank":3)", "read_record_from_slow_storage"}},
      {"uneven_data", {uneven}, {"imbalance"}},
      {"many_ranks", {many}, {R"("rank":77)"}},
      {"three_jobs", {neighbor, other, slow_kernel}, {"read_record_from_slow_storage"}},
  };
}

std::string Text(const PipelineOutput& output) {
  std::string text;
  for (const std::string& finding : output.findings) text += finding + '\n';
  return text;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

void ExpectSame(const PipelineOutput& expected, const PipelineOutput& actual) {
  EXPECT_EQ(Text(expected), Text(actual));
  EXPECT_EQ(expected.patterns.size(), actual.patterns.size());
  EXPECT_TRUE(expected.patterns == actual.patterns)
      << "PatternBatches or CollectiveSummaries differ";
  EXPECT_EQ(expected.dead_letters, actual.dead_letters);
}

// The output in order; every other way is compared with it.
PipelineOutput RunAllWays(const std::vector<EventBatch>& batches,
                          const std::vector<PipelineWay>& ways) {
  const Topology topology = EroicaTopology();
  PipelineOutput first;
  for (size_t i = 0; i < ways.size(); ++i) {
    SCOPED_TRACE(ways[i].name);
    absl::StatusOr<PipelineOutput> output = RunPipeline(batches, topology, ways[i]);
    EXPECT_TRUE(output.ok()) << output.status();
    if (!output.ok()) return first;
    if (i > 0) ExpectSame(first, *output);
    if (i == 0) first = *std::move(output);
  }
  return first;
}

class Golden : public ::testing::TestWithParam<Scenario> {};

TEST_P(Golden, SaysTheSameInEveryWay) {
  const Scenario& scenario = GetParam();
  std::vector<EventBatch> batches;
  for (const JobOptions& job : scenario.jobs) {
    for (EventBatch& batch : BuildJob(job)) batches.push_back(std::move(batch));
  }
  const PipelineOutput output = RunAllWays(batches, AllWays());
  EXPECT_TRUE(output.dead_letters.empty());
  EXPECT_FALSE(output.patterns.empty());
  const std::string text = Text(output);
  if (scenario.truth.empty()) {
    EXPECT_EQ(text, "") << "a false alarm";
  }
  for (const std::string& word : scenario.truth) EXPECT_THAT(text, ::testing::HasSubstr(word));
  const std::filesystem::path path = kExpected / (scenario.name + ".json");
  if (std::getenv("EROICA_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  ASSERT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_EQ(ReadFile(path), text)
      << "read the difference; if it is right: EROICA_UPDATE_GOLDEN=1 ctest -L golden";
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Golden, ::testing::ValuesIn(Scenarios()),
                         [](const auto& job) { return job.param.name; });

class GoldenTraces : public ::testing::TestWithParam<TraceJob> {};

TEST_P(GoldenTraces, SayTheSameInEveryWay) {
  if (!HaveTraces()) GTEST_SKIP() << "the folder of real traces is absent: " << kTraceRoot;
  const absl::StatusOr<std::vector<EventBatch>> batches = ImportJob(GetParam());
  ASSERT_TRUE(batches.ok()) << batches.status();
  const std::vector<PipelineWay> ways = {{"in order", 1, false, false, 1},
                                         {"disordered", 3, true, false, 2},
                                         {"crashing", 8, false, true, 3},
                                         {"both", 3, true, true, 4}};
  const PipelineOutput output = RunAllWays(*batches, ways);
  EXPECT_TRUE(output.dead_letters.empty());
  EXPECT_FALSE(output.patterns.empty());
}

INSTANTIATE_TEST_SUITE_P(Traces, GoldenTraces, ::testing::ValuesIn(TraceJobs()),
                         [](const auto& job) { return job.param.name; });

}  // namespace
}  // namespace eroica::testing

// What diagnosis says of the real traces, held against the truth that is known of each
// (../shared/traces/README.md and the truth folders). Jobs whose truth needs operators that are not
// built yet (a fault equal on all ranks, a hot expert) are not listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/eroica_topology.h"
#include "tests/support/pipeline.h"
#include "tests/support/trace_jobs.h"

namespace eroica::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Expected {
  std::string kind;
  std::string subkind;
  int culprit = -1;  // -1: nobody is to be blamed
  std::string function;
  size_t victims = 0;
  double lost_ms_per_step = 0;
  double tolerance_ms = 0;
};

struct TruthOfTrace {
  std::string job;
  // by culprit; none: a healthy job, or one that cannot support a finding
  std::vector<Expected> findings;
};

void PrintTo(const TruthOfTrace& truth, std::ostream* out) { *out << truth.job; }

std::vector<TruthOfTrace> Truths() {
  return {
      {"dlrm", {{"slow_rank", "late_arrival", 7, "", 7, 8.5, 1.5}}},
      {"stage_imbalance", {{"imbalance", "stage", -1, "compute", 6, 530, 60}}},
      {"gloo_healthy_4r", {}},
      {"gloo_slow_compute_4r",
       {{"slow_rank", "function", 1, "throttled_layer_extra_work", 3, 37, 3}}},
      {"gloo_slow_data_inline_4r",
       {{"slow_rank", "function", 0, "read_record_from_slow_storage", 3, 58, 4}}},
      {"gloo_gc_4r", {{"slow_rank", "function", 1, "run_full_garbage_collection", 3, 80, 8}}},
      {"gloo_imbalance_4r", {{"imbalance", "data", -1, "emulate_device_kernels", 3, 48, 6}}},
      {"ddp_healthy_4r", {}},
      {"ddp_two_faults_sync_4r",
       {{"slow_rank", "function", 0, "read_record_from_slow_storage", 3, 67, 8},
        {"slow_rank", "function", 3, "throttled_layer_extra_work", 3, 40, 6}}},
      {"net_healthy_4r", {}},
      {"net_slow_link_4r", {{"communication", "nic", 2, "", 0, 112, 10}}},
      {"fsdp_slow_compute_4r",
       {{"slow_rank", "function", 2, "throttled_layer_extra_work", 3, 27, 4}}},
      {"pp4dp2_healthy_8r", {}},
      {"pp2dp2_gpipe_healthy_4r", {}},
      {"pp4dp2_slow_mid_8r",
       {{"slow_rank", "function", 6, "throttled_layer_extra_work", 7, 135, 8}}},
      {"hta_two_of_many", {}},
      {"hta_diff_control", {}},
      {"hta_diff_test", {}},
  };
}

// The latest version of each finding, by culprit.
std::vector<json> LatestFindings(const PipelineOutput& output) {
  std::map<std::string, json> by_id;
  for (const std::string& text : output.findings) {
    json finding = json::parse(text);
    json& latest = by_id[finding.at("id")];
    if (latest.is_null() || finding.at("windows").at("last") >= latest.at("windows").at("last"))
      latest = finding;
  }
  std::vector<json> findings;
  for (const auto& [id, finding] : by_id) findings.push_back(finding);
  std::sort(findings.begin(), findings.end(),
            [](const json& a, const json& b) { return a.at("culprits") < b.at("culprits"); });
  return findings;
}

void ExpectFinding(const json& finding, const Expected& expected) {
  EXPECT_EQ(finding.at("kind"), expected.kind);
  EXPECT_EQ(finding.at("subkind"), expected.subkind);
  EXPECT_THAT(finding.at("function").get<std::string>(), HasSubstr(expected.function));
  EXPECT_EQ(finding.at("victims").size(), expected.victims);
  EXPECT_NEAR(finding.at("lost_ns_per_step").get<double>() / 1e6, expected.lost_ms_per_step,
              expected.tolerance_ms);
  if (expected.culprit < 0) {
    EXPECT_TRUE(finding.at("culprits").empty());
  } else {
    ASSERT_EQ(finding.at("culprits").size(), 1u);
    EXPECT_EQ(finding.at("culprits")[0].at("rank"), expected.culprit);
  }
}

class TraceTruth : public ::testing::TestWithParam<TruthOfTrace> {
 protected:
  std::vector<json> Diagnose() {
    for (const TraceJob& job : TraceJobs()) {
      if (job.name != GetParam().job) continue;
      const absl::StatusOr<std::vector<EventBatch>> batches = ImportJob(job);
      EXPECT_TRUE(batches.ok()) << batches.status();
      const absl::StatusOr<PipelineOutput> output =
          RunPipeline(*batches, EroicaTopology(), AllWays().front());
      EXPECT_TRUE(output.ok()) << output.status();
      return LatestFindings(*output);
    }
    ADD_FAILURE() << "no such job";
    return {};
  }
};

TEST_P(TraceTruth, IsFound) {
  if (!HaveTraces()) GTEST_SKIP() << "the folder of real traces is absent: " << kTraceRoot;
  const std::vector<json> findings = Diagnose();
  ASSERT_EQ(findings.size(), GetParam().findings.size()) << json(findings).dump(2);
  for (size_t i = 0; i < findings.size(); ++i) ExpectFinding(findings[i], GetParam().findings[i]);
}

INSTANTIATE_TEST_SUITE_P(RealTraces, TraceTruth, ::testing::ValuesIn(Truths()),
                         [](const auto& truth) { return truth.param.job; });

// The traces of the network cases as they are without the TCP_INFO beside them.
std::vector<json> DiagnoseWithoutConnections(const std::string& name) {
  absl::StatusOr<std::vector<EventBatch>> batches = ImportJob({name, {"torch-parallel/" + name}});
  EXPECT_TRUE(batches.ok()) << batches.status();
  size_t connections = 0;
  for (EventBatch& batch : *batches) {
    connections += batch.connections.size();
    batch.connections.clear();
  }
  EXPECT_GT(connections, 0u);
  const absl::StatusOr<PipelineOutput> output =
      RunPipeline(*batches, EroicaTopology(), AllWays().front());
  EXPECT_TRUE(output.ok()) << output.status();
  return LatestFindings(*output);
}

// One ring alone shows that all ranks are in collectives, and not why (ops/cli/capture_gaps.h).
TEST(TraceTruthWithoutConnections, NobodyIsBlamedForTheNetwork) {
  if (!HaveTraces()) GTEST_SKIP() << "the folder of real traces is absent: " << kTraceRoot;
  EXPECT_TRUE(DiagnoseWithoutConnections("net_slow_link_4r").empty());
}

TEST(TraceTruthWithoutConnections, AHealthyNetworkIsNone) {
  if (!HaveTraces()) GTEST_SKIP() << "the folder of real traces is absent: " << kTraceRoot;
  EXPECT_TRUE(DiagnoseWithoutConnections("net_healthy_4r").empty());
}

TEST(TraceTruthOfOneStep, SaysThatPersistenceIsNotShown) {
  if (!HaveTraces()) GTEST_SKIP() << "the folder of real traces is absent: " << kTraceRoot;
  const absl::StatusOr<std::vector<EventBatch>> batches = ImportJob(TraceJobs().front());
  ASSERT_TRUE(batches.ok()) << batches.status();
  const absl::StatusOr<PipelineOutput> output =
      RunPipeline(*batches, EroicaTopology(), AllWays().front());
  ASSERT_TRUE(output.ok()) << output.status();
  const std::vector<json> findings = LatestFindings(*output);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_LT(findings[0].at("confidence").get<double>(), 0.9);
  EXPECT_THAT(findings[0].at("caveats").dump(), HasSubstr("persistence is not shown"));
  EXPECT_THAT(findings[0].at("explanation").get<std::string>(), HasSubstr("rank 5 at 2"));
  EXPECT_TRUE(findings[0].at("function").get<std::string>().empty())
      << "its peers load data for as long";
}

}  // namespace
}  // namespace eroica::testing

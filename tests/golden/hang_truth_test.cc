// Jobs that stand still, through the whole topology, in every way that must not make a difference:
// real flight-recorder dumps against the truth that is known of each (fault_injection.log, truth/),
// and jobs made of a few lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/eroica_topology.h"
#include "tests/support/pipeline.h"
#include "tests/support/standing_job_batches.h"
#include "tests/support/trace_jobs.h"

namespace eroica::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The findings, after having made sure that all that is said is the same in every way.
std::vector<json> Diagnose(const std::vector<EventBatch>& batches) {
  const Topology topology = EroicaTopology();
  PipelineOutput first;
  for (const PipelineWay& way : AllWays()) {
    SCOPED_TRACE(way.name);
    const absl::StatusOr<PipelineOutput> output = RunPipeline(batches, topology, way);
    EXPECT_TRUE(output.ok()) << output.status();
    if (!output.ok()) return {};
    if (way.name == AllWays().front().name) first = *output;
    EXPECT_EQ(output->findings, first.findings);
    EXPECT_TRUE(output->patterns == first.patterns)
        << "PatternBatches, CollectiveSummaries or RankStandings differ";
    EXPECT_THAT(output->dead_letters, IsEmpty());
  }
  std::vector<json> findings;
  for (const std::string& text : first.findings) findings.push_back(json::parse(text));
  return findings;
}

std::vector<int> Ranks(const json& parties) {
  std::vector<int> ranks;
  for (const json& party : parties) ranks.push_back(party.at("rank"));
  return ranks;
}

struct Truth {
  std::string name;
  std::string folder;
  std::string subkind;
  std::vector<int> culprits;
  size_t victims = 0;
};

void PrintTo(const Truth& truth, std::ostream* out) { *out << truth.name; }

class HangTruth : public ::testing::TestWithParam<Truth> {};

TEST_P(HangTruth, IsFoundInRealDumps) {
  if (!HaveTraces()) GTEST_SKIP() << "the folder of real traces is absent: " << kTraceRoot;
  const absl::StatusOr<std::vector<EventBatch>> batches =
      ImportJob({GetParam().name, {GetParam().folder}});
  ASSERT_TRUE(batches.ok()) << batches.status();
  const std::vector<json> findings = Diagnose(*batches);
  ASSERT_THAT(findings, SizeIs(1)) << json(findings).dump(2);
  EXPECT_EQ(findings[0].at("kind"), "hang");
  EXPECT_EQ(findings[0].at("subkind"), GetParam().subkind);
  EXPECT_EQ(findings[0].at("state"), "opened");
  EXPECT_EQ(Ranks(findings[0].at("culprits")), GetParam().culprits);
  EXPECT_EQ(findings[0].at("victims").size(), GetParam().victims) << findings[0].dump(2);
  EXPECT_THAT(findings[0].at("caveats").dump(), HasSubstr("flight recorder"));
}

INSTANTIATE_TEST_SUITE_P(
    RealDumps, HangTruth,
    ::testing::Values(
        Truth{"gpu_error_1st", "flight-recorder-16rank/gpu_error_1st", "device", {12, 14}, 14},
        Truth{"lock_gil_1st", "flight-recorder-16rank/lock_gil_1st", "never_launched", {9, 14}, 14},
        Truth{"hang_rank2_4r", "torch-gloo/hang_rank2_4r", "never_launched", {2}, 3}),
    [](const auto& truth) { return truth.param.name; });

// The latest version of the one finding.
json Only(const std::vector<json>& findings) {
  EXPECT_FALSE(findings.empty());
  json latest;
  for (const json& finding : findings) {
    if (!latest.is_null()) {
      EXPECT_EQ(finding.at("id"), latest.at("id"));
    }
    if (latest.is_null() || finding.at("title") > latest.at("title")) latest = finding;
  }
  return latest;
}

TEST(HangInAJob, OfARankThatStopsLaunching) {
  const std::vector<json> findings = Diagnose(StandingJobBatches(
      {.ranks = 4, .steps = 10, .fault = StandingFault::kNeverLaunches, .culprit = 2}));
  const json finding = Only(findings);
  EXPECT_EQ(finding.at("subkind"), "never_launched");
  EXPECT_THAT(Ranks(finding.at("culprits")), ElementsAre(2));
  EXPECT_EQ(finding.at("function"), kStuckFunction);
  EXPECT_THAT(Ranks(finding.at("victims")), ElementsAre(0, 1, 3));
  EXPECT_THAT(findings, SizeIs(2)) << "at 10 s and at 20 s";
  EXPECT_EQ(finding.at("windows").at("first"), 2);
  EXPECT_EQ(finding.at("steps").at("first"), 10);
}

TEST(HangInAJob, OfARankThatDies) {
  const json finding = Only(Diagnose(
      StandingJobBatches({.ranks = 4, .steps = 10, .fault = StandingFault::kDies, .culprit = 1})));
  EXPECT_EQ(finding.at("subkind"), "silent");
  EXPECT_THAT(Ranks(finding.at("culprits")), ElementsAre(1));
  EXPECT_THAT(Ranks(finding.at("victims")), ElementsAre(0, 2, 3));
}

TEST(HangInAJob, OfATransfer) {
  const json finding = Only(Diagnose(
      StandingJobBatches({.ranks = 3, .steps = 10, .fault = StandingFault::kTransferStands})));
  EXPECT_EQ(finding.at("subkind"), "communication");
  EXPECT_THAT(Ranks(finding.at("culprits")), IsEmpty());
}

TEST(HangInAJob, OfARankInAnotherCollective) {
  const json finding = Only(Diagnose(StandingJobBatches(
      {.ranks = 4, .steps = 10, .fault = StandingFault::kWrongCollective, .culprit = 3})));
  EXPECT_EQ(finding.at("subkind"), "mismatch");
  EXPECT_THAT(Ranks(finding.at("culprits")), ElementsAre(3));
}

TEST(HangInAJob, OfSlowStepsThereIsNone) {
  EXPECT_THAT(Diagnose(StandingJobBatches({.ranks = 4,
                                           .steps = 10,
                                           .step_seconds = 4,
                                           .fault = StandingFault::kNeverLaunches,
                                           .culprit = 2,
                                           .report_seconds = 19})),
              IsEmpty())
      << "19 s are less than five steps of 4 s";
}

TEST(HangInAJob, OfACheckpointThereIsNone) {
  EXPECT_THAT(
      Diagnose(StandingJobBatches({.ranks = 4, .steps = 10, .fault = StandingFault::kCheckpoint})),
      IsEmpty());
}

// All stand for half a minute, and go on: opened, and resolved when windows close again.
TEST(HangInAJob, ThatGoesOnIsResolved) {
  const std::vector<json> findings =
      Diagnose(StandingJobBatches({.ranks = 4,
                                   .steps = 10,
                                   .fault = StandingFault::kNeverLaunches,
                                   .culprit = 2,
                                   .steps_after = 20}));
  std::vector<std::string> states;
  for (const json& finding : findings) {
    EXPECT_EQ(finding.at("kind"), "hang");
    states.push_back(finding.at("state"));
  }
  EXPECT_THAT(states, ::testing::UnorderedElementsAre("opened", "updated", "resolved"));
}

}  // namespace
}  // namespace eroica::testing

#include "tests/evaluation/score/judged_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "schemas/finding_json.h"
#include "tests/support/eroica_topology.h"
#include "tests/support/job_builder.h"
#include "tests/support/pipeline.h"

namespace eroica {
namespace {

using testing::BuildJob;
using testing::JobFault;
using testing::JobOptions;

std::unique_ptr<JobRun> RunOf(const std::vector<EventBatch>& batches) {
  auto run = JobRun::Create(EdgeSummarizer::InOrder());
  EXPECT_TRUE(run.ok()) << run.status();
  for (const EventBatch& batch : batches) EXPECT_TRUE((*run)->Write(batch).ok());
  return *std::move(run);
}

// Blames rank 2 in every window, and rank 0 in the first.
class BlamesTwo final : public DiagnosisOperator {
 public:
  std::string_view name() const override { return "blames_two"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override {
    EXPECT_EQ(view.ranks().size(), 4u) << "windows are closed when they are complete";
    Finding finding;
    finding.culprits = {{.rank = 2}};
    findings.push_back(finding);
    finding.culprits = {{.rank = 0}};
    if (view.window_index() == 0) findings.push_back(finding);
  }
};

const Truth kSlowKernel{.expected = {.kinds = {FindingKind::kSlowRank},
                                     .ranks = {1},
                                     .functions = {testing::kMatrixKernel}}};

TEST(JudgedJob, EveryMethodOnTheSameJob) {
  const auto run = RunOf(BuildJob({.fault = JobFault::kSlowKernel, .culprit = 1}));
  const std::vector<Method> methods = {
      {.name = "alone",
       .about = "",
       .make = [] { return std::unique_ptr<DiagnosisOperator>(new BlamesTwo()); }},
      {.name = "whole", .about = ""}};
  const auto scored = JudgeJob(*run, {.scenario = "slow kernel"}, {kSlowKernel}, methods, 8);
  ASSERT_TRUE(scored.ok()) << scored.status();
  ASSERT_EQ(scored->size(), 2u);
  const ScoredRun& alone = (*scored)[0];
  ASSERT_EQ(alone.said.size(), 1u) << "what was said of one window of three does not stand";
  EXPECT_EQ(alone.said[0].finding.culprits[0].rank, 2);
  EXPECT_EQ(alone.verdict.false_findings(), 1u);
  const ScoredRun& whole = (*scored)[1];
  EXPECT_EQ(whole.facts.scenario, "slow kernel");
  EXPECT_TRUE(whole.verdict.right());
  EXPECT_EQ(whole.verdict.truths[0].windows, 1) << "its four steps all agree";
}

TEST(JudgedJob, AHealthyJobIsSilent) {
  const auto run = RunOf(BuildJob({}));
  const auto scored =
      JudgeJob(*run, {}, {}, std::vector<Method>{{.name = "whole", .about = ""}}, 8);
  ASSERT_TRUE(scored.ok());
  EXPECT_TRUE(scored->at(0).verdict.right());
  EXPECT_TRUE(scored->at(0).said.empty());
}

// The edge summarizes what the stage would; so what is scored is what the program says.
TEST(JobRun, SaysWhatTheTopologySays) {
  const std::vector<EventBatch> batches =
      BuildJob({.fault = JobFault::kSlowPython, .culprit = 2, .factor = 0.4});
  const auto run = RunOf(batches);
  ASSERT_TRUE(run->Align().ok());
  const auto said = run->Diagnose();
  ASSERT_TRUE(said.ok()) << said.status();
  ASSERT_FALSE(said->empty());
  const auto output =
      testing::RunPipeline(batches, testing::EroicaTopology(), testing::AllWays().front());
  ASSERT_TRUE(output.ok());
  for (const SaidFinding& one : *said) {
    EXPECT_EQ(std::count(output->findings.begin(), output->findings.end(),
                         ToJson(one.finding, JsonTimes::kOmit)),
              1);
    EXPECT_EQ(one.opened_window, one.finding.first_window) << "its steps all agree";
  }
}

TEST(JobRun, RefusesBatchesThatBreakTheirInvariants) {
  std::vector<EventBatch> batches = BuildJob({});
  batches[0].intervals.duration_ns.pop_back();
  auto run = JobRun::Create(EdgeSummarizer::InOrder());
  ASSERT_TRUE(run.ok());
  EXPECT_EQ((*run)->Write(batches[0]).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace eroica

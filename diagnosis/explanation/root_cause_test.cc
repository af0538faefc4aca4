#include "diagnosis/explanation/root_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "diagnosis/measurements/synthetic_job.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/confidence.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/held_up.h"
#include "diagnosis/report/subkinds.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Claims what it was told to claim.
class FixedOperator final : public DiagnosisOperator {
 public:
  explicit FixedOperator(std::vector<Finding> claims) : claims_(std::move(claims)) {}
  std::string_view name() const override { return "fixed"; }
  std::string_view version() const override { return "7"; }
  void Evaluate(const CrossRankView&, std::vector<Finding>& findings) const override {
    findings.insert(findings.end(), claims_.begin(), claims_.end());
  }

 private:
  std::vector<Finding> claims_;
};

Finding Claim(int32_t rank, double confidence, double lost_ns, std::string measure = "m") {
  Finding finding;
  finding.culprits = {{.rank = rank}};
  finding.confidence = confidence;
  finding.lost_ns_per_step = lost_ns;
  finding.function = measure;
  finding.evidence = {{.name = measure}};
  return finding;
}

std::vector<Finding> Diagnose(TrainingView& job, std::vector<Finding> first,
                              std::vector<Finding> second = {}) {
  std::vector<std::unique_ptr<DiagnosisOperator>> operators;
  operators.push_back(std::make_unique<FixedOperator>(std::move(first)));
  operators.push_back(std::make_unique<FixedOperator>(std::move(second)));
  const CrossRankView view(job.batches(), job.summaries());
  return RootCause(std::move(operators)).Diagnose(view);
}

TrainingView Job() {
  TrainingView job(4);
  job.RunOnAll("forward", 60).Run(1, "extra", 40);
  job.Finish();
  return job;
}

// Clients of a parameter server: each has steps of its own length.
SyntheticJob JobOfClients() {
  SyntheticJob job(4, /*host_only=*/true);
  for (PatternBatch& batch : job.batches) {
    for (StepRecord& step : batch.steps)
      step.duration_ns = batch.rank.value == 2 ? 40'000'000 : 4'000'000;
  }
  return job;
}

TEST(RootCause, ARankThatNobodyWaitsForCostsItsOwnStepsAlone) {
  const SyntheticJob job = JobOfClients();
  const CrossRankView view(job.batches, job.summaries);
  for (const double lost_ns : {36e6, 360e6}) {  // no more than its step
    Finding claim = Claim(2, 0.9, lost_ns);
    claim.kind = FindingKind::kSlowRank;
    std::vector<std::unique_ptr<DiagnosisOperator>> operators;
    operators.push_back(std::make_unique<FixedOperator>(std::vector{claim}));
    const std::vector<Finding> findings = RootCause(std::move(operators)).Diagnose(view);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_LE(findings[0].lost_ns_per_step, 40e6);
    EXPECT_LE(findings[0].lost_gpu_seconds_per_hour, 3600) << "the work of one rank at most";
    ASSERT_THAT(findings[0].chain, SizeIs(1));
    EXPECT_THAT(findings[0].chain[0].description, HasSubstr("every step of rank 2 takes"));
    EXPECT_THAT(findings[0].chain[0].description, HasSubstr("of 40.0 ms"));
  }
}

TEST(RootCause, NobodyHoldsNoRankUp) {
  const SyntheticJob job = JobOfClients();
  const CrossRankView view(job.batches, job.summaries);
  BusyTime busy;
  busy.excess_ns = 36e6;
  busy.step_ns = 16e6;
  const std::string none = HoldsUpText(view.ranks()[2], busy, {});
  EXPECT_THAT(none, HasSubstr("no rank is seen to wait for it"));
  EXPECT_THAT(none, HasSubstr("100 % of")) << "and no more than the step";
  EXPECT_EQ(WaitForPeersOf(busy, {}).peers, 0);
  EXPECT_THAT(HoldsUpText(view.ranks()[2], busy, {Victim{.rank = RankId{1}}}),
              HasSubstr("holds 1 other rank up"));
}

TEST(RootCause, ClaimsAboutOneCulpritBecomeOneFinding) {
  TrainingView job = Job();
  const std::vector<Finding> findings =
      Diagnose(job, {Claim(1, 0.4, 4e7, "weak")}, {Claim(1, 0.9, 4e7, "strong")});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "strong");
  EXPECT_THAT(findings[0].evidence, SizeIs(3)) << "and how long it has lasted";
  EXPECT_EQ(findings[0].operator_name, "fixed");
}

// As of four ranks on one H100, of which the one that was served last was called slow.
TEST(RootCause, ASlowRankWhoseDeviceOthersNameIsSaidToBePerhapsServedLast) {
  TrainingView job = Job();
  for (PatternBatch& batch : job.batches()) batch.host = "vm";
  for (const uint32_t rank : {1u, 2u, 3u}) job.batches()[rank].device = 0;
  Finding claim = Claim(1, 0.9, 4e7);
  claim.culprits[0].host = "vm";
  claim.culprits[0].device = 0;
  const auto caveats = [&] { return Diagnose(job, {claim})[0].caveats; };
  EXPECT_THAT(caveats(), Contains(HasSubstr("2 other ranks of the host name device 0")));
  for (const uint32_t rank : {2u, 3u}) job.batches()[rank].device = static_cast<int32_t>(rank);
  EXPECT_THAT(caveats(), IsEmpty()) << "each has its own";
  for (const uint32_t rank : {2u, 3u}) job.batches()[rank].device = 0;
  for (const uint32_t rank : {2u, 3u}) job.batches()[rank].host = "other";
  EXPECT_THAT(caveats(), IsEmpty()) << "another host";
  claim.kind = FindingKind::kCommunication;
  job.batches()[2].host = "vm";
  EXPECT_THAT(caveats(), IsEmpty()) << "whose turn it is on a device does not matter";
}

// Claims that all ranks have become slower in a Python function.
class ChangeOperator final : public DiagnosisOperator {
 public:
  explicit ChangeOperator(uint64_t ranks, std::string function)
      : ranks_(ranks), function_(std::move(function)) {}
  std::string_view name() const override { return "regression"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView&, std::vector<Finding>& findings) const override {
    Finding finding;
    finding.kind = FindingKind::kRegression;
    finding.function = function_;
    finding.function_class = FunctionClass::kPython;
    finding.lost_ns_per_step = 4e7;
    finding.confidence = 0.9;
    finding.evidence = {{.name = "excess_explained_by_function"},
                        {.name = "function_time_per_step", .samples = ranks_}};
    findings.push_back(finding);
  }

 private:
  uint64_t ranks_;  // that run it
  std::string function_;
};

std::vector<Finding> DiagnoseChange(Finding other, uint64_t ranks = 4,
                                    const std::string& function = "build_mask",
                                    FindingKind kind = FindingKind::kSlowRank,
                                    uint64_t samples = 0) {
  TrainingView job = Job();
  if (samples > 0) job.SampleStacks(samples);
  other.kind = kind;
  std::vector<std::unique_ptr<DiagnosisOperator>> operators;
  operators.push_back(std::make_unique<FixedOperator>(std::vector<Finding>{std::move(other)}));
  operators.push_back(std::make_unique<ChangeOperator>(ranks, function));
  const CrossRankView view(job.batches(), job.summaries());
  return RootCause(std::move(operators)).Diagnose(view);
}

// However sure it is of the few steps: the rank is slow on the whole.
// A stage's devices by its layers, which want a second window, and a host's by its clock, which
// does not.
TEST(RootCause, WhatOneClaimWaitsForTheOtherNeedNot) {
  TrainingView job = Job();
  Finding waits = Claim(1, 0.4, 4e7, "weak");
  waits.evidence.push_back({.name = std::string(kSeenInWindows),
                            .unit = "count",
                            .culprit = 1,
                            .threshold = 2,
                            .samples = 1});
  const std::vector<Finding> findings = Diagnose(job, {waits}, {Claim(1, 0.9, 4e7, "strong")});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_NE(FindMeasure(findings[0], "weak"), nullptr);
  EXPECT_EQ(FindMeasure(findings[0], kSeenInWindows), nullptr);
}

TEST(RootCause, ASpikeDoesNotTellWhatTheMeanTells) {
  TrainingView job = Job();
  Finding spike = Claim(1, 0.9, 4e7, "spike");
  spike.subkind = kTransient;
  const std::vector<Finding> late =
      Diagnose(job, {Claim(1, 0.4, 4e7, std::string(kExcessOverNoise))}, {spike});
  ASSERT_THAT(late, SizeIs(1));
  EXPECT_EQ(late[0].function, kExcessOverNoise);
  const std::vector<Finding> different = Diagnose(job, {Claim(1, 0.4, 4e7, "beta")}, {spike});
  ASSERT_THAT(different, SizeIs(1));
  EXPECT_EQ(different[0].function, "spike");
}

TEST(RootCause, WhatAllRanksRunLongerIsNotExplainedByALateRank) {
  EXPECT_THAT(DiagnoseChange(Claim(1, 0.9, 4e7, "gemm")), SizeIs(2));
  EXPECT_THAT(DiagnoseChange(Claim(1, 0.9, 4e7, "build_mask")), SizeIs(1))
      << "the same function is one fault";
  Finding host = Claim(1, 0.9, 4e7, "gemm");
  host.culprits.push_back({.rank = 2});
  EXPECT_THAT(DiagnoseChange(host, 4), SizeIs(2));
  EXPECT_THAT(DiagnoseChange(host, 2), SizeIs(1))
      << "a stage's function is longer on as many ranks as its host is slow with";
}

TEST(RootCause, ALateRankExplainsThatAllWaitLongerForAProcessor) {
  EXPECT_THAT(DiagnoseChange(Claim(1, 0.9, 4e7, "gemm"), 4, "(runnable, waiting for a processor)"),
              SizeIs(1));
}

TEST(RootCause, ASlowLinkExplainsWhatSampledStacksShowOfTheExchange) {
  const auto findings = [](uint64_t samples) {
    return DiagnoseChange(Claim(1, 0.9, 4e7, "link"), 4, "ring.py: exchange",
                          FindingKind::kCommunication, samples)
        .size();
  };
  EXPECT_EQ(findings(0), 2u);
  EXPECT_EQ(findings(40), 1u);
}

// Claims that the network of all hosts has become slower.
class NetworkChangeOperator final : public DiagnosisOperator {
 public:
  std::string_view name() const override { return "regression"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView&, std::vector<Finding>& findings) const override {
    Finding finding;
    finding.kind = FindingKind::kCommunication;
    finding.lost_ns_per_step = 8e7;
    finding.confidence = 0.9;
    findings.push_back(finding);
  }
};

// Of a job on so many hosts, two of which exchange slowly, which costs a quarter of what the job
// has become slower by.
std::vector<Finding> DiagnoseSlowNetwork(uint32_t hosts) {
  TrainingView job(hosts);
  job.RunOnAll("forward", 60).Finish();
  for (PatternBatch& batch : job.batches()) batch.host = "node" + std::to_string(batch.rank.value);
  Finding slow = Claim(-1, 0.9, 2e7);
  slow.kind = FindingKind::kCommunication;
  slow.culprits = {{.rank = -1, .host = "node0"}, {.rank = -1, .host = "node1"}};
  std::vector<std::unique_ptr<DiagnosisOperator>> operators;
  operators.push_back(std::make_unique<FixedOperator>(std::vector<Finding>{slow}));
  operators.push_back(std::make_unique<NetworkChangeOperator>());
  const CrossRankView view(job.batches(), job.summaries());
  return RootCause(std::move(operators)).Diagnose(view);
}

TEST(RootCause, ANetworkIsSlowerForTheSakeOfHostsThatHalfOfItsPathsLeadTo) {
  EXPECT_THAT(DiagnoseSlowNetwork(4), SizeIs(1));
  EXPECT_THAT(DiagnoseSlowNetwork(8), SizeIs(2)) << "nine sixteenths of the paths are others'";
}

TEST(RootCause, NoLossIsClaimedTwice) {
  TrainingView job = Job();  // the others wait 40 ms a step
  const std::vector<Finding> findings =
      Diagnose(job, {Claim(1, 0.9, 4e7, "read"), Claim(2, 0.9, 4e7, "gemm")});
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_NEAR(findings[0].lost_ns_per_step + findings[1].lost_ns_per_step, 4e7, 1);
}

TEST(RootCause, IdsAreEqualOverRunsAndDifferByCulprit) {
  TrainingView job = Job();
  const Finding read = Claim(1, 0.9, 4e7, "read");
  const Finding gemm = Claim(2, 0.9, 3e7, "gemm");
  const std::vector<Finding> once = Diagnose(job, {read, gemm});
  const std::vector<Finding> again = Diagnose(job, {gemm}, {read});
  ASSERT_THAT(once, SizeIs(2));
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(once[0].id, again[0].id);
  EXPECT_NE(once[0].id, once[1].id);
  EXPECT_EQ(once[0].id.size(), 32u);
}

TEST(RootCause, LossLowersConfidenceAndIsSaid) {
  TrainingView job = Job();
  job.batches()[0].completeness.lost = 4000;
  const std::vector<Finding> findings = Diagnose(job, {Claim(1, 1.0, 4e7)});
  EXPECT_DOUBLE_EQ(findings[0].confidence, ConfidenceAfter(1, 1, 0.5));
  EXPECT_THAT(findings[0].caveats, Contains(HasSubstr("4000 of 8000 events")));
}

TEST(RootCause, TelemetryThatEndsEarlyIsSaid) {
  TrainingView job = Job();
  EXPECT_THAT(Diagnose(job, {Claim(1, 1.0, 4e7)})[0].caveats,
              Not(Contains(HasSubstr("fewer steps"))));
  job.batches()[2].steps.resize(job.batches()[2].steps.size() - 2);
  EXPECT_THAT(Diagnose(job, {Claim(1, 1.0, 4e7)})[0].caveats,
              Contains(HasSubstr("1 rank tells of fewer steps")));
}

TEST(RootCause, TheChainLeadsFromTheCulpritToTheStepTime) {
  TrainingView job = Job();
  CollectiveSummary& pipeline = job.AddSummary();
  pipeline.pairs = {{.source = RankId{1},
                     .destination = RankId{2},
                     .count = 8,
                     .receive_wait_ns = 300 * kNsPerMs}};
  CollectiveSummary& group = job.AddSummary();
  group.members = {{.rank = RankId{2}, .caused_wait_ns = 200 * kNsPerMs},
                   {.rank = RankId{3}, .exposed_wait_ns = 200 * kNsPerMs}};
  const std::vector<Finding> findings = Diagnose(job, {Claim(1, 1.0, 4e7)});
  ASSERT_THAT(findings[0].chain, SizeIs(3));
  EXPECT_EQ(findings[0].chain[0].rank, 2);
  EXPECT_EQ(findings[0].chain[1].rank, 3);
  EXPECT_THAT(findings[0].chain[1].description,
              HasSubstr("rank 3 waits 200 ms for rank 2 in collectives of communicator group2"));
  EXPECT_EQ(findings[0].chain[2].rank, -1);
  EXPECT_THAT(findings[0].chain[2].description, HasSubstr("40.0 ms longer (40 %"));
  EXPECT_EQ(findings[0].severity, Severity::kCritical);
  EXPECT_NEAR(findings[0].lost_gpu_seconds_per_hour, 0.4 * 3600 * 4, 1e-6);
}

TEST(RootCause, AHealthyJobHasNoFindings) {
  TrainingView job(8);
  job.RunOnAll("forward", 60).Finish();
  const CrossRankView view(job.batches(), job.summaries());
  EXPECT_THAT(RootCause(DefaultOperators()).Diagnose(view), IsEmpty());
}

}  // namespace
}  // namespace eroica

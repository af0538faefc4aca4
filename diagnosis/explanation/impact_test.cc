#include "diagnosis/explanation/impact.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "diagnosis/measurements/training_view.h"
#include "diagnosis/step_accounting/staged_job.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr double kMs = kNsPerMs;

Finding Claim(FindingKind kind, std::vector<int32_t> ranks, double lost_ms,
              std::string function = "") {
  Finding finding;
  finding.kind = kind;
  finding.function = std::move(function);
  for (const int32_t rank : ranks) finding.culprits.push_back({.rank = rank});
  finding.lost_ns_per_step = lost_ms * kMs;
  return finding;
}

std::vector<double> ImpactsOf(const CrossRankView& view, std::vector<Finding> claims) {
  AssignImpacts(view, claims);
  std::vector<double> impacts;
  for (const Finding& claim : claims) impacts.push_back(claim.lost_ns_per_step / kMs);
  return impacts;
}
std::vector<double> ImpactsOf(TrainingView& job, std::vector<Finding> claims) {
  return ImpactsOf(CrossRankView(job.batches(), job.summaries()), std::move(claims));
}

// Steps of 100: rank 1 is 40 longer in the forward pass, rank 2 20; the others wait.
StagedJob TwoInOneStage() {
  StagedJob job(8, 4, {5, 20, 70, 5}, 50);
  job.Set(1, {5, 60, 30, 5}, 10).Set(2, {5, 40, 50, 5}, 30);
  return job;
}

TrainingView TwoSlowRanks() {
  TrainingView job(8);
  job.RunOnAll("forward", 60).Run(1, "read", 40).Run(2, "gemm", 20).Finish();
  return job;
}

TEST(AssignImpacts, RanksThatAreLateTogetherShareTheLoss) {
  const StagedJob job = TwoInOneStage();
  const std::vector<double> impacts = ImpactsOf(
      job.View(), {Claim(FindingKind::kSlowRank, {1}, 99), Claim(FindingKind::kSlowRank, {2}, 99)});
  EXPECT_NEAR(impacts[0], 30, 0.01) << "half of the first 20, and the 20 that it is later alone";
  EXPECT_NEAR(impacts[1], 10, 0.01);
}

TEST(AssignImpacts, TwoClaimsAboutOneRankDivideItsLoss) {
  const StagedJob job = TwoInOneStage();
  const std::vector<double> impacts =
      ImpactsOf(job.View(),
                {Claim(FindingKind::kSlowRank, {1}, 60), Claim(FindingKind::kContention, {1}, 20)});
  EXPECT_NEAR(impacts[0], 22.5, 0.01);
  EXPECT_NEAR(impacts[1], 7.5, 0.01);
}

TEST(AssignImpacts, WithoutMarksTheSameFunctionIsTheSameTime) {
  TrainingView job = TwoSlowRanks();
  const std::vector<double> together =
      ImpactsOf(job, {Claim(FindingKind::kSlowRank, {1}, 40, "read"),
                      Claim(FindingKind::kSlowRank, {2}, 20, "read")});
  EXPECT_NEAR(together[0], 30, 0.01);
  EXPECT_NEAR(together[1], 10, 0.01);
  const std::vector<double> apart =
      ImpactsOf(job, {Claim(FindingKind::kSlowRank, {1}, 25, "read"),
                      Claim(FindingKind::kSlowRank, {2}, 15, "gemm")});
  EXPECT_NEAR(apart[0], 25, 0.01);
  EXPECT_NEAR(apart[1], 15, 0.01);
}

TEST(AssignImpacts, ADelayMayBeWaitedForInALaterStep) {
  StagedJob job(4, 8, {5, 20, 20, 5});
  for (uint32_t step = 0; step < 8; ++step) job.SetStep(1, step, {5, 50, 20, 5}, 0);
  for (const uint32_t rank : {0U, 2U, 3U}) {
    for (const uint32_t step : {3U, 7U}) job.SetStep(rank, step, {125, 20, 20, 5}, 120);
  }
  EXPECT_NEAR(ImpactsOf(job.View(), {Claim(FindingKind::kSlowRank, {1}, 28, "augment")})[0], 28,
              0.01);
}

TEST(AssignImpacts, AllTogetherAreNoMoreThanWasLost) {
  TrainingView job = TwoSlowRanks();  // the others wait 40
  const std::vector<double> impacts = ImpactsOf(
      job, {Claim(FindingKind::kSlowRank, {1}, 30), Claim(FindingKind::kCommunication, {5}, 30),
            Claim(FindingKind::kImbalance, {}, 25)});
  EXPECT_NEAR(impacts[0], 30, 0.01);
  EXPECT_NEAR(impacts[1], 10, 0.01);
  EXPECT_EQ(impacts[2], 0);
}

TEST(AssignImpacts, WhatIsMeasuredAgainstThePastKeepsItsFigure) {
  TrainingView job = TwoSlowRanks();
  EXPECT_NEAR(ImpactsOf(job, {Claim(FindingKind::kRegression, {}, 70)})[0], 70, 0.01);
}

TEST(AssignImpacts, WindowsWithoutStepsHaveNoAccount) {
  TrainingView job = TwoSlowRanks();
  for (PatternBatch& batch : job.batches()) batch.steps.clear();
  EXPECT_NEAR(ImpactsOf(job, {Claim(FindingKind::kSlowRank, {1}, 99)})[0], 99, 0.01);
}

}  // namespace
}  // namespace eroica

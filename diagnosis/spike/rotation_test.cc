#include "diagnosis/spike/rotation.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "diagnosis/ledger/claim_memory.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/spike/spike_operator.h"

namespace eroica {
namespace {

constexpr std::string_view kCollect = "<built-in collect>";
constexpr uint32_t kRanks = 16;
constexpr uint32_t kSteps = 6;

// Every step of every rank is another one's length: from 60 to 66 ms.
TrainingView UnevenJob() {
  TrainingView job(kRanks, kSteps);
  job.RunOnAll("forward", 60);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    for (uint32_t step = 0; step < kSteps; ++step)
      job.Jitter(rank, step, (7 * rank + 5 * step + 3 * rank * step) % 7);
  }
  return job;
}

// Half of the ranks, one of them twice, each in a step of its own.
TrainingView RotatingJob(double ms = 14) {
  TrainingView job = UnevenJob();
  for (uint32_t rank = 0; rank < kRanks; rank += 2) {
    const uint32_t step = (rank / 2) % kSteps;
    job.RunInSteps(rank, kCollect, ms, step, step + 1,
                   rank % 4 == 0 ? "model.py: forward" : "loader.py: next");
  }
  job.RunInSteps(6, kCollect, ms, 5, 6, "loss.py: forward");
  return job;
}

std::vector<Rotation> RotationsOf(TrainingView& job) {
  job.Finish();
  const CrossRankView view(job.batches(), job.summaries());
  return FindRotations(view, RotationOptions{});
}

TEST(FindRotations, RanksAreLateAsTheyRunIt) {
  TrainingView job = RotatingJob();
  const std::vector<Rotation> rotations = RotationsOf(job);
  ASSERT_EQ(rotations.size(), 1);
  EXPECT_EQ(rotations[0].sample->name, kCollect);
  EXPECT_EQ(rotations[0].ranks, kRanks / 2);
  EXPECT_EQ(rotations[0].occurrences, kRanks / 2 + 1);
  EXPECT_EQ(rotations[0].rank_steps, kRanks * kSteps);
  EXPECT_NEAR(rotations[0].slope, 1, 0.3);
  EXPECT_NEAR(rotations[0].occurrence_ns, 14e6, 1e3);
}

TEST(FindRotations, WhatCostsLittleIsNotAskedFor) {
  TrainingView job = RotatingJob(2);
  EXPECT_TRUE(RotationsOf(job).empty());
}

// All ranks in one step, now longer, now shorter: those that it takes longer are late by as much.
TEST(FindRotations, WhatAllRunAtOnceDoesNotRotate) {
  TrainingView job = UnevenJob();
  for (uint32_t rank = 0; rank < kRanks; ++rank)
    job.RunInSteps(rank, kCollect, 10 + 2 * rank, 3, 4);
  EXPECT_TRUE(RotationsOf(job).empty());
}

// The others are in a stage that hides it.
TEST(FindRotations, WhatSomeRunAtOnceDoesNotRotate) {
  TrainingView job = UnevenJob();
  for (uint32_t rank = 0; rank < kRanks / 2; ++rank) job.RunInSteps(rank, kCollect, 20, 3, 4);
  EXPECT_TRUE(RotationsOf(job).empty());
}

// It runs while the device has enough to do, and nobody is late by it.
TEST(FindRotations, WhatMakesNobodyLateDoesNotRotate) {
  TrainingView job = RotatingJob();
  for (uint32_t rank = 0; rank < kRanks; rank += 2) job.Jitter(rank, (rank / 2) % kSteps, -14);
  job.Jitter(6, 5, -14);
  EXPECT_TRUE(RotationsOf(job).empty());
}

// Beside it the rank does ten times as much that nobody tells of.
TEST(FindRotations, WhatIsAPartOfMoreDoesNotRotate) {
  TrainingView job = RotatingJob();
  for (uint32_t rank = 0; rank < kRanks; rank += 2) job.Jitter(rank, (rank / 2) % kSteps, 126);
  job.Jitter(6, 5, 126);
  EXPECT_TRUE(RotationsOf(job).empty());
}

TEST(FindRotations, TwoRanksAreNoRotation) {
  TrainingView job = UnevenJob();
  job.RunInSteps(2, kCollect, 40, 1, 2).RunInSteps(7, kCollect, 40, 4, 5);
  EXPECT_TRUE(RotationsOf(job).empty());
}

TEST(FindRotations, AreClaimedOfOneWindowWhereThePValueIsAsSmallAsOfTwo) {
  const auto windows_for = [](double ms) {
    TrainingView job = RotatingJob(ms);
    job.Finish();
    const std::vector<Finding> findings = ClaimsOf<SpikeOperator>(job);
    return findings.empty() ? 0 : FindMeasure(findings.back(), kSeenInWindows)->threshold;
  };
  EXPECT_EQ(windows_for(20), 1);
  EXPECT_EQ(windows_for(14), 2);
  TrainingView of_one_host = RotatingJob(20);
  for (PatternBatch& batch : of_one_host.batches())
    batch.host = batch.rank.value % 2 == 0 ? "node0" : "node1";
  of_one_host.Finish();
  EXPECT_EQ(FindMeasure(ClaimsOf<SpikeOperator>(of_one_host).back(), kSeenInWindows)->threshold, 2);
}

TEST(FindRotations, WhatMayHaveBegunInTheWindowIsAskedForAgain) {
  TrainingView job = UnevenJob();
  for (uint32_t rank = 0; rank < kRanks; rank += 2)
    job.RunInSteps(rank, kCollect, 20, 3 + (rank / 2) % 3, 4 + (rank / 2) % 3);
  job.Finish();
  const std::vector<Finding> findings = ClaimsOf<SpikeOperator>(job);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(FindMeasure(findings.back(), kSeenInWindows)->threshold, 2);
}

TEST(FindRotations, AreNobodysFaultAndClaimedWhenSeenTwice) {
  TrainingView job = RotatingJob();
  job.Finish();
  const std::vector<Finding> findings = ClaimsOf<SpikeOperator>(job);
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].kind, FindingKind::kStepTime);
  EXPECT_EQ(findings[0].subkind, kRoaming);
  EXPECT_EQ(findings[0].function, kCollect);
  EXPECT_TRUE(findings[0].culprits.empty());
  EXPECT_TRUE(IsInFewSteps(findings[0]));
  ClaimMemory memory;
  const auto ripen = [&](int64_t window) {
    Finding claim = findings[0];
    claim.first_window = claim.last_window = window;
    claim.world_size = kRanks;
    claim.lost_gpu_seconds_per_hour = 0.1 * 3600 * kRanks;
    return memory.Ripen(window, {claim}, {false}, false).size();
  };
  EXPECT_EQ(ripen(1), 0) << "one window is not enough";
  EXPECT_EQ(ripen(3), 1);
}

}  // namespace
}  // namespace eroica

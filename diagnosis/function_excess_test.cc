#include "diagnosis/function_excess.h"

#include "diagnosis/synthetic_job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;

constexpr FunctionClass kPython = FunctionClass::kPython;
constexpr int64_t kStepNs = kSyntheticWindowNs / 10;

std::vector<std::string> Names(const std::vector<FunctionExcess>& excesses) {
  std::vector<std::string> names;
  for (const FunctionExcess& excess : excesses) names.push_back(excess.pattern->name);
  return names;
}

TEST(FunctionExcess, NamesWhatTheCulpritAloneRuns) {
  SyntheticJob job(4);
  job.RunOnAll(kPython, "forward", 0.3);
  job.Run(1, kPython, "throttled_layer_extra_work", 0.25);
  job.Run(1, kPython, "forward", 0.05);
  const CrossRankView view(job.batches, job.summaries);
  const std::vector<FunctionExcess> excesses = ExcessOverPeers(view, 1);
  EXPECT_THAT(Names(excesses), ::testing::ElementsAre("throttled_layer_extra_work", "forward"));
  EXPECT_EQ(excesses[0].excess_ns, kStepNs / 4);
  EXPECT_EQ(excesses[0].own_ns, kStepNs / 4);
  EXPECT_EQ(excesses[0].peers_median_ns, 0);
  EXPECT_EQ(excesses[0].peers_max_ns, 0);
  EXPECT_EQ(excesses[0].peers, 3u);
  EXPECT_EQ(excesses[0].steps, 10u);
  EXPECT_NEAR(static_cast<double>(excesses[1].excess_ns), 0.05 * kStepNs, 2);
  EXPECT_THAT(ExcessOverPeers(view, 0), IsEmpty()) << "its peers are the healthy majority";
}

TEST(FunctionExcess, WorksForTwoPeers) {
  SyntheticJob job(2);
  job.Run(0, kPython, "load", 0.5);
  job.Run(1, kPython, "load", 0.2);
  const CrossRankView view(job.batches, job.summaries);
  ASSERT_EQ(ExcessOverPeers(view, 0).size(), 1u);
  EXPECT_EQ(ExcessOverPeers(view, 0)[0].peers_median_ns, kStepNs / 5);
  EXPECT_THAT(ExcessOverPeers(view, 1), IsEmpty());
}

TEST(FunctionExcess, ComparesWithinTheRoleOnly) {
  SyntheticJob job(4);
  for (uint32_t rank = 0; rank < 4; ++rank) job.batches[rank].role = rank < 2 ? "stage0" : "stage1";
  job.Run(2, kPython, "loss", 0.3);
  job.Run(3, kPython, "loss", 0.3);
  const CrossRankView view(job.batches, job.summaries);
  EXPECT_THAT(ExcessOverPeers(view, 2), IsEmpty());
}

TEST(FunctionExcess, LeavesOutWaitingUnlessAsked) {
  SyntheticJob job(3);
  job.Run(0, kPython, "Work.wait", 0.3).wait = WaitKind::kPeer;
  job.Run(0, FunctionClass::kCollective, "all_reduce", 0.3);
  const CrossRankView view(job.batches, job.summaries);
  EXPECT_THAT(ExcessOverPeers(view, 0), IsEmpty());
  EXPECT_EQ(ExcessOverPeers(view, 0, {.skip_peer_waits = false}).size(), 1u);
  EXPECT_EQ(ExcessOverPeers(view, 0, {.skip_collectives = false}).size(), 1u);
  EXPECT_EQ(
      ExcessOverPeers(view, 0, {.skip_collectives = false, .only_class = FunctionClass::kPython})
          .size(),
      0u);
}

TEST(FunctionExcess, CountsStepsAndWindowsAlike) {
  SyntheticJob job(3);
  job.RunOnAll(kPython, "forward", 0.2);
  job.batches[0].steps.resize(5);  // half as many steps in the same time: each takes twice as long
  const CrossRankView per_step(job.batches, job.summaries);
  ASSERT_EQ(ExcessOverPeers(per_step, 0).size(), 1u);
  EXPECT_EQ(ExcessOverPeers(per_step, 0)[0].excess_ns, kStepNs / 5);
  job.batches[1].steps.clear();
  const CrossRankView per_window(job.batches, job.summaries);
  EXPECT_THAT(ExcessOverPeers(per_window, 0), IsEmpty());
}

TEST(FunctionExcess, WhatThePeersMayHaveFoldedIsNoExcess) {
  SyntheticJob job(3);
  job.Run(0, kPython, "little", 0.0049);
  job.Run(0, kPython, "more", 0.006);
  const CrossRankView view(job.batches, job.summaries);
  EXPECT_THAT(Names(ExcessOverPeers(view, 0)), ::testing::ElementsAre("more"));
  ExcessOptions all;
  all.min_excess_share = 0;
  EXPECT_EQ(ExcessOverPeers(view, 0, all).size(), 2u);
}

TEST(FunctionExcess, SilentRanksAreNobodysPeers) {
  SyntheticJob job(4);
  job.RunOnAll(kPython, "forward", 0.2);
  for (uint32_t rank = 1; rank < 4; ++rank) job.batches[rank].silent = rank > 1;
  const CrossRankView view(job.batches, job.summaries);
  EXPECT_THAT(ExcessOverPeers(view, 0), IsEmpty());
  EXPECT_THAT(ExcessOverPeers(view, 2), IsEmpty());
  EXPECT_THAT(ExcessOverPeers(view, 99), IsEmpty());
}

TEST(FunctionExcess, ClassesAddUpSmallFunctions) {
  SyntheticJob job(5);
  for (int i = 0; i < 20; ++i)
    job.RunOnAll(FunctionClass::kGpuCompute, "kernel" + std::to_string(i), 0.02);
  for (int i = 0; i < 20; ++i)
    job.Run(3, FunctionClass::kGpuCompute, "kernel" + std::to_string(i), 0.002);
  job.batches[3].folded_critical_ns[0] = 10 * kStepNs / 100;
  const CrossRankView view(job.batches, job.summaries);
  EXPECT_NEAR(static_cast<double>(ClassExcessOverPeers(view, 3)[0]), 0.05 * kStepNs, 10);
  EXPECT_EQ(ClassExcessOverPeers(view, 0)[0], 0);
}

TEST(FunctionExcess, BoundsTheCostOfLargeRoles) {
  SyntheticJob job(3'000);
  job.RunOnAll(kPython, "forward", 0.2);
  job.Run(2'999, kPython, "forward", 0.1);
  const CrossRankView view(job.batches, job.summaries);
  const std::vector<FunctionExcess> excesses = ExcessOverPeers(view, 2'999, {.max_peers = 50});
  ASSERT_EQ(excesses.size(), 1u);
  EXPECT_EQ(excesses[0].peers, 50u);
  EXPECT_EQ(excesses[0].peers_median_ns, kStepNs / 5);
}

}  // namespace
}  // namespace eroica

#include "diagnosis/hypotheses/compute_growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "diagnosis/hypotheses/devices_elsewhere.h"
#include "diagnosis/measurements/device_job.h"

namespace eroica {
namespace {

// Of the rank against its peers; nothing is expected of ranks that are not busier than they.
ComputeGrowth Measure(DeviceJob& job, uint32_t rank) {
  const CrossRankView view(job.view().batches(), job.view().summaries());
  const std::vector<BusyTime>& all = view.busy_times();
  return MeasureComputeGrowth(
      view, *std::find_if(all.begin(), all.end(),
                          [rank](const BusyTime& busy) { return busy.rank == rank; }));
}

GrowthCause CauseOf(const DeviceRank& odd, DeviceJobShape shape = {}, size_t ranks = 8) {
  std::vector<DeviceRank> job(ranks);
  job[5] = odd;
  DeviceJob device_job(job, shape);
  return Measure(device_job, 5).cause;
}

TEST(ComputeGrowth, ALowerClockIsSeen) {
  EXPECT_EQ(CauseOf({.data = 1.1, .optimizer = 1.1, .clock = 1 / 1.1}), GrowthCause::kClock);
  // What is bound by memory does not mind the clock.
  EXPECT_EQ(CauseOf({.data = 1.1, .optimizer = 1, .clock = 1 / 1.1}), GrowthCause::kClock);
}

TEST(ComputeGrowth, AllKernelsLongerAtTheUsualClockIsASharedDevice) {
  EXPECT_EQ(CauseOf({.data = 1.1, .optimizer = 1.1}), GrowthCause::kShared);
  EXPECT_EQ(CauseOf({.data = 1.1, .optimizer = 1.1}, {.samples = false}), GrowthCause::kDevice);
}

TEST(ComputeGrowth, MoreDataLeavesTheOptimizerAlone) {
  EXPECT_EQ(CauseOf({.data = 1.1, .optimizer = 1}), GrowthCause::kData);
  EXPECT_EQ(CauseOf({.data = 1.1, .optimizer = 1}, {.samples = false}), GrowthCause::kData);
  EXPECT_EQ(CauseOf({.data = 1.1, .optimizer = 1.04}), GrowthCause::kDevice)
      << "no inputs lengthen it";
  EXPECT_EQ(CauseOf({.data = 1.1}, {.optimizer = false}), GrowthCause::kUnclear)
      << "no kernel tells";
}

// A ring of eight; what the odd rank sends and receives takes so many times as long for a byte.
GrowthCause CauseBesideLinks(double links, double bytes = 1) {
  std::vector<DeviceRank> ranks(8);
  ranks[5] = {.data = 1.1};
  DeviceJob job(ranks, {.optimizer = false});
  for (uint32_t rank = 0; rank < 8; ++rank) {
    for (const uint32_t peer : {(rank + 1) % 8, (rank + 7) % 8}) {
      const double longer = rank == 5 || peer == 5 ? links : 1;
      const double carried = rank == 5 ? 1e9 * bytes : 1e9;
      job.view().batches()[rank].connections.push_back(
          {.peer = peer,
           .resource = Resource::kNvlink,
           .bytes = static_cast<uint64_t>(carried),
           .busy_ns = static_cast<int64_t>(carried / 200 * longer),
           .channels = 4});
    }
  }
  return Measure(job, 5).cause;
}

// Ranks meet once in six kernels, so that the peers wait there for all that rank 5 computes longer.
// Its samples then show it as busy as they show it, by the clock.
GrowthCause CauseBetweenWaits(double seen, uint32_t meetings_a_step, uint64_t samples) {
  std::vector<DeviceRank> ranks(8);
  ranks[5] = {.data = 1.1, .optimizer = 1.1, .clock = seen};
  DeviceJob job(ranks);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    for (FunctionPattern& kernel : job.view().batches()[rank].patterns)
      kernel.resource_samples = samples;
    job.view().Run(rank, "AllReduce", rank == 5 ? 1 : 1 + 0.1 * 88, "", FunctionClass::kCollective);
    job.view().batches()[rank].patterns.back().count = meetings_a_step * 8;
  }
  return Measure(job, 5).cause;
}

TEST(ComputeGrowth, SamplesThatHoldWaitsHideALowerClock) {
  EXPECT_EQ(CauseBetweenWaits(1.0, 20, 100), GrowthCause::kDevice)
      << "a lower clock, or samples that hold no waits: undecided";
  EXPECT_EQ(CauseBetweenWaits(1.1, 20, 100), GrowthCause::kShared)
      << "as much busier as it waits less";
  EXPECT_EQ(CauseBetweenWaits(1.0, 20, 1'000), GrowthCause::kShared)
      << "many samples a call: they lie inside";
  EXPECT_EQ(CauseBetweenWaits(1.0, 1, 100), GrowthCause::kShared) << "one wait a step";
}

TEST(ComputeGrowth, WhereNoOptimizerIsSeenLinksTell) {
  EXPECT_EQ(CauseBesideLinks(1.1), GrowthCause::kShared);
  EXPECT_EQ(CauseBesideLinks(1), GrowthCause::kUnclear);
  EXPECT_EQ(CauseBesideLinks(1, 1.1), GrowthCause::kUnclear)
      << "larger inputs are more bytes, not slower ones";
  EXPECT_EQ(CauseBesideLinks(2), GrowthCause::kUnclear) << "a slow link has a reason of its own";
}

TEST(ComputeGrowth, OneKernelAloneIsNotTheData) {
  EXPECT_EQ(CauseOf({.first_data = 1.8}), GrowthCause::kUnclear);
}

TEST(ComputeGrowth, TheOnlyKernelOfItsKindIsNotAllOfThem) {
  std::vector<DeviceRank> ranks(8);
  ranks[5] = {.data = 1.5};
  DeviceJob job(ranks);
  for (PatternBatch& batch : job.view().batches()) {
    std::erase_if(batch.patterns, [](const FunctionPattern& pattern) {
      return pattern.name.starts_with("gemm_") && pattern.name > "gemm_1";
    });
  }
  EXPECT_EQ(Measure(job, 5).cause, GrowthCause::kUnclear);
}

TEST(ComputeGrowth, MostCallsAsFastAsEverIsADeviceThatPauses) {
  EXPECT_EQ(CauseOf({.paused = 0.1}), GrowthCause::kPauses);
  EXPECT_EQ(CauseOf({.optimizer = 1 / 1.1, .paused = 0.1}), GrowthCause::kPauses)
      << "none happened to fall into the optimizer";
}

TEST(ComputeGrowth, MoreTokensShowInTheBytesToo) {
  EXPECT_EQ(CauseOf({.experts = 2.5, .bytes = 2.5}, {.experts = true}), GrowthCause::kRouting);
  EXPECT_EQ(CauseOf({.experts = 2.5, .bytes = 1.75}, {.experts = true}), GrowthCause::kRouting)
      << "one side alone grows";
  EXPECT_EQ(CauseOf({.experts = 2.5, .bytes = 1}, {.experts = true}), GrowthCause::kUnclear)
      << "a slow kernel";
  EXPECT_EQ(CauseOf({.experts = 2.5, .bytes = 0.5}, {.experts = true}), GrowthCause::kUnclear)
      << "more time for less";
}

// Tokens differ over all ranks; one device is slow on top of it.
TEST(ComputeGrowth, WhatBytesExplainIsTakenOut) {
  std::vector<DeviceRank> ranks(16);
  for (uint32_t rank = 0; rank < 16; ++rank)
    ranks[rank] = {.experts = 0.8 + 0.03 * rank, .bytes = 0.8 + 0.03 * rank};
  ranks[5].experts *= 1.1;
  ranks[5].data = ranks[5].optimizer = 1.1;
  DeviceJob job(ranks, {.experts = true});
  const ComputeGrowth growth = Measure(job, 5);
  EXPECT_EQ(growth.cause, GrowthCause::kShared);
  EXPECT_NEAR(growth.growth, 0.1, 0.005);
  EXPECT_LT(growth.noise, 0.01) << "tokens are no noise";
}

// Lengths differ a little from rank to rank; one rank's experts are asked for more.
TEST(ComputeGrowth, WhatBytesLeaveMayBeWhatRanksDifferBy) {
  for (const double own : {1.02, 1.2}) {
    std::vector<DeviceRank> ranks(16);
    for (uint32_t rank = 0; rank < 16; ++rank) ranks[rank] = {.data = 0.97 + 0.004 * rank};
    ranks[5] = {.data = own, .experts = 2.5, .bytes = 2.5};
    DeviceJob job(ranks, {.experts = true});
    const CrossRankView view(job.view().batches(), job.view().summaries());
    const auto busy = std::ranges::find(view.busy_times(), RankIndex{5}, &BusyTime::rank);
    ASSERT_NE(busy, view.busy_times().end());
    EXPECT_EQ(MeasureComputeGrowth(view, *busy, 0.01).cause == GrowthCause::kRouting, own < 1.1)
        << own;
  }
}

// Longer sequences lengthen a rank's attention; what its experts get comes from all ranks.
TEST(ComputeGrowth, ExpertsNeedNotGrowWithTheInputs) {
  std::vector<DeviceRank> ranks(16);
  for (uint32_t rank = 0; rank < 16; ++rank)
    ranks[rank] = {.experts = 0.8 + 0.03 * rank, .bytes = 0.8 + 0.03 * rank};
  ranks[5].data = 1.2;
  DeviceJob job(ranks, {.experts = true, .expert_ms = 30});
  EXPECT_EQ(Measure(job, 5).cause, GrowthCause::kData);
}

// Tensor parallel ranks exchange their activations: sequences show in the bytes, and no optimizer
// is needed to tell.
TEST(ComputeGrowth, BytesThatExplainAllKernelsAreLongerInputs) {
  std::vector<DeviceRank> ranks(8);
  ranks[5] = {.data = 1.2, .experts = 1.2, .bytes = 1.2};
  DeviceJob job(ranks, {.optimizer = false, .experts = true});
  EXPECT_EQ(Measure(job, 5).cause, GrowthCause::kData);
}

// Whatever a payload says of counts and times.
TEST(ComputeGrowth, CountsAndTimesMayBeNonsense) {
  for (const uint64_t count : {uint64_t{0}, uint64_t{1} << 63}) {
    std::vector<DeviceRank> ranks(8);
    ranks[5] = {.data = 1.1};
    DeviceJob job(ranks);
    for (FunctionPattern& kernel : job.view().batches()[5].patterns) kernel.count = count;
    for (FunctionPattern& kernel : job.view().batches()[2].patterns) kernel.critical_ns = 0;
    const ComputeGrowth growth = Measure(job, 5);
    ASSERT_TRUE(growth.compute);
    EXPECT_TRUE(std::isfinite(growth.compute->value));
    EXPECT_TRUE(std::isfinite(growth.calls_growth));
  }
}

TEST(ComputeGrowth, SmallDifferencesAreThoseOfDevices) {
  EXPECT_EQ(CauseOf({.data = 1.02, .optimizer = 1.02, .clock = 0.98}), GrowthCause::kUnclear);
  EXPECT_EQ(CauseOf({}), GrowthCause::kUnclear);
}

TEST(ComputeGrowth, SaysByHowMuch) {
  std::vector<DeviceRank> ranks(8);
  ranks[5] = {.data = 1.2, .optimizer = 1.0};
  DeviceJob job(ranks);
  const ComputeGrowth growth = Measure(job, 5);
  EXPECT_NEAR(growth.growth, 0.2, 1e-3);
  EXPECT_NEAR(growth.expected_ns, 6 * 14e6, 1e3);
  ASSERT_TRUE(growth.parameter_growth.has_value());
  EXPECT_NEAR(*growth.parameter_growth, 0, 1e-6);
  EXPECT_DOUBLE_EQ(growth.uniform, 1);
  EXPECT_DOUBLE_EQ(growth.typical, 1);
}

TEST(ComputeGrowth, NeitherScaleNorMoreHealthyRanksChangeIt) {
  const std::vector<DeviceRank> cases = {{.data = 1.1, .optimizer = 1.1, .clock = 1 / 1.1},
                                         {.data = 1.1, .optimizer = 1.1},
                                         {.data = 1.1},
                                         {.paused = 0.1},
                                         {.experts = 2.5, .bytes = 2.5}};
  for (const DeviceRank& odd : cases) {
    const GrowthCause cause = CauseOf(odd, {.experts = true});
    EXPECT_NE(cause, GrowthCause::kUnclear);
    for (const double scale : {0.1, 7.0, 100.0})
      EXPECT_EQ(CauseOf(odd, {.scale = scale, .experts = true}), cause) << scale;
    for (const size_t ranks : {6u, 64u, 300u})
      EXPECT_EQ(CauseOf(odd, {.experts = true}, ranks), cause) << ranks;
  }
}

// Two replicas of a pipeline stage differ by 8 %; what those of three other stages differ by says
// whether healthy devices may.
TEST(ComputeGrowth, ReplicasOfOtherStagesSayWhatHealthyDevicesDifferBy) {
  constexpr double kSeparation = 6;
  constexpr size_t kRanks = 8;
  ComputeGrowth growth{.growth = 0.08, .noise = 0.002, .peers = 1};
  EXPECT_FALSE(StandsOut(growth, kSeparation, kRanks));
  growth.elsewhere = {.value = 0.006, .freedom = 3};
  EXPECT_TRUE(StandsOut(growth, kSeparation, kRanks));
  growth.elsewhere.value = 0.03;
  EXPECT_FALSE(StandsOut(growth, kSeparation, kRanks));
}

TEST(ComputeGrowth, EachRankIsComparedWithItsOwnRoleElsewhere) {
  std::vector<DeviceRank> ranks(8);
  for (uint32_t rank = 0; rank < 8; ++rank) ranks[rank].data = rank < 4 ? 1 : 2;
  ranks[7].data = 2 * 1.02;
  DeviceJob job(ranks);
  for (uint32_t rank = 0; rank < 8; ++rank)
    job.view().Role(rank, "stage" + std::to_string(rank / 2));
  const CrossRankView view(job.view().batches(), job.view().summaries());
  const HealthySpread of_all = DevicesElsewhere(view, view.ranks()[0].role);
  EXPECT_EQ(of_all.freedom, 3);
  EXPECT_NEAR(of_all.value, 0.02 / std::sqrt(2 * 3), 0.001);
  EXPECT_NEAR(DevicesElsewhere(view, view.ranks()[7].role).value, 0, 1e-9);
}

}  // namespace
}  // namespace eroica

#include "stream_ops/pattern/sample_series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace eroica {
namespace {

// A sample each 10 ns from 0.
SampleSeries Series(const std::vector<double>& shares) {
  SampleSeries series;
  series.Clear();
  for (size_t i = 0; i < shares.size(); ++i)
    series.Add(static_cast<int64_t>(i) * 10, static_cast<float>(shares[i]));
  series.Finish();
  return series;
}

constexpr double kStep = 1.0 / 65535;

TEST(SampleSeries, PlainMeanWhereNothingIsIdle) {
  const ResourceUse use = Series({0.2, 0.4, 0.6, 0.8}).Measure(10, 40);
  EXPECT_NEAR(use.mean, 0.6, kStep);
  EXPECT_NEAR(use.deviation, 0.1633, 1e-4);
  EXPECT_EQ(use.samples, 3u);
  EXPECT_DOUBLE_EQ(use.length_ns, 30);
}

TEST(SampleSeries, IdlingBeforeTheTransferIsLeftOut) {
  // The rank enters early and waits for 6 of 10 samples.
  const ResourceUse use = Series({0, 0, 0, 0, 0, 0, 0.8, 0.8, 0.8, 0.8}).Measure(0, 100);
  EXPECT_NEAR(use.mean, 0.8, kStep);
  EXPECT_NEAR(use.deviation, 0, kStep);
  EXPECT_EQ(use.samples, 4u);
  EXPECT_DOUBLE_EQ(use.length_ns, 40);
}

TEST(SampleSeries, ShortPausesInsideTheTransferBelongToIt) {
  // 0.1 is 9 % of the use: one part of 91 % is enough, and its inner pause of one sample is needed.
  const ResourceUse use = Series({0.1, 0, 0, 0, 0.5, 0, 0.5}).Measure(0, 70);
  EXPECT_EQ(use.samples, 3u);
  EXPECT_NEAR(use.mean, 1.0 / 3, kStep);
}

TEST(SampleSeries, TwoEqualHalvesNeedThePauseBetween) {
  const ResourceUse use = Series({0, 0.5, 0, 0, 0.5, 0}).Measure(0, 60);
  EXPECT_EQ(use.samples, 4u);
  EXPECT_NEAR(use.mean, 0.25, kStep);
}

TEST(SampleSeries, AlmostIdleCountsAsIdle) {
  const ResourceUse use = Series({0.005, 0.009, 0.9, 0.9}).Measure(0, 40);
  EXPECT_EQ(use.samples, 2u);
  EXPECT_NEAR(use.mean, 0.9, kStep);
}

TEST(SampleSeries, NoUseAtAllIsUseZero) {
  const ResourceUse use = Series({0, 0, 0}).Measure(0, 30);
  EXPECT_EQ(use.samples, 3u);
  EXPECT_EQ(use.mean, 0);
  EXPECT_DOUBLE_EQ(use.length_ns, 30);
  const ResourceUse little = Series({0.004, 0.004}).Measure(0, 20);
  EXPECT_NEAR(little.mean, 0.004, kStep) << "all of it idle: the whole execution";
}

TEST(SampleSeries, ExecutionBetweenTwoSamplesTakesTheNext) {
  const SampleSeries series = Series({0.1, 0.7, 0.3});
  const ResourceUse use = series.Measure(3, 5);
  EXPECT_EQ(use.samples, 1u);
  EXPECT_NEAR(use.mean, 0.7, kStep);
  EXPECT_DOUBLE_EQ(use.length_ns, 2);
  EXPECT_EQ(series.Measure(25, 26).samples, 0u) << "after the last sample nothing is known";
  EXPECT_EQ(series.Measure(5, 5).samples, 0u);
}

TEST(SampleSeries, AGapInTheSamplesIsNotBridged) {
  SampleSeries series;
  series.Clear();
  for (int64_t t : {0, 10, 20, 1000, 1010}) series.Add(t, 0.5f);
  series.Finish();
  EXPECT_EQ(series.Measure(30, 40).samples, 0u);
  EXPECT_EQ(series.Measure(981, 990).samples, 1u);
}

TEST(SampleSeries, Empty) {
  SampleSeries series;
  series.Clear();
  series.Finish();
  EXPECT_EQ(series.Measure(0, 10).samples, 0u);
}

// The paper's own search: the smallest gap for which some sub-interval holds 80 % of the use
// without a longer run of idle samples; -1: no use at all.
int SmallestGap(const std::vector<double>& shares) {
  double all = 0;
  for (double share : shares) all += share;
  if (all == 0) return -1;
  for (size_t gap = 0;; ++gap) {
    for (size_t l = 0; l < shares.size(); ++l) {
      double sum = 0;
      size_t idle = 0;
      for (size_t r = l; r < shares.size() && idle <= gap; ++r) {
        idle = shares[r] == 0 ? idle + 1 : 0;
        sum += shares[r];
        if (idle <= gap && sum >= 0.8 * all - 1e-9) return static_cast<int>(gap);
      }
    }
  }
}

// Whether some stretch of so many samples has this mean and, as its longest pause, this gap.
bool Exists(const std::vector<double>& shares, size_t samples, double mean, int gap) {
  for (size_t l = 0; l + samples <= shares.size(); ++l) {
    double sum = 0;
    int idle = 0, longest = 0;
    for (size_t i = l; i < l + samples; ++i) {
      sum += shares[i];
      idle = shares[i] == 0 ? idle + 1 : 0;
      longest = std::max(longest, idle);
    }
    if (std::abs(sum / static_cast<double>(samples) - mean) < kStep && longest == gap) return true;
  }
  return false;
}

TEST(SampleSeries, FindsThePapersGap) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> shares(1 + random() % 25);
    for (double& share : shares)
      share = random() % 3 == 0 ? 0.2 * static_cast<double>(1 + random() % 5)
                                : 0.0;  // whole steps of 1/65535
    const int gap = SmallestGap(shares);
    if (gap < 0) continue;
    const ResourceUse use = Series(shares).Measure(0, static_cast<int64_t>(shares.size()) * 10);
    EXPECT_TRUE(Exists(shares, use.samples, use.mean, gap)) << "round " << round;
  }
}

}  // namespace
}  // namespace eroica

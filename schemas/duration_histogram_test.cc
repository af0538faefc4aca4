#include "schemas/duration_histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr uint64_t kDurationMax = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kCountMax = std::numeric_limits<uint32_t>::max();

TEST(DurationHistogram, BucketsAreAdjacentAndHoldTheirBounds) {
  for (int bucket = 0; bucket < DurationHistogram::kBucketCount; ++bucket) {
    const auto index = static_cast<uint16_t>(bucket);
    EXPECT_EQ(DurationHistogram::BucketOf(DurationHistogram::LowerBound(index)), bucket);
    if (bucket + 1 == DurationHistogram::kBucketCount) break;
    EXPECT_EQ(DurationHistogram::UpperBound(index),
              DurationHistogram::LowerBound(static_cast<uint16_t>(bucket + 1)));
    EXPECT_EQ(DurationHistogram::BucketOf(DurationHistogram::UpperBound(index) - 1), bucket);
  }
  EXPECT_EQ(DurationHistogram::BucketOf(kDurationMax), DurationHistogram::kBucketCount - 1);
}

TEST(DurationHistogram, TheMiddleOfABucketIsWithinAThirtySecond) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t ns = random() >> (1 + random() % 63);
    const uint16_t bucket = DurationHistogram::BucketOf(ns);
    const uint64_t lower = DurationHistogram::LowerBound(bucket);
    const uint64_t upper = DurationHistogram::UpperBound(bucket);
    ASSERT_LE(lower, ns);
    ASSERT_LT(ns, upper);
    ASSERT_LE(static_cast<double>(upper - lower), std::max(1.0, static_cast<double>(lower) / 32))
        << ns;
  }
}

TEST(DurationHistogram, AddsAndMergesInAnyOrder) {
  std::mt19937_64 random(2);
  DurationHistogram all, even, odd;
  for (uint64_t i = 0; i < 2'000; ++i) {
    const uint64_t ns = random() % 1'000'000;
    all.Add(ns);
    (i % 2 == 0 ? even : odd).Add(ns);
  }
  DurationHistogram forth = even, back = odd;
  forth.Merge(odd);
  back.Merge(even);
  EXPECT_EQ(forth, all);
  EXPECT_EQ(back, all);
  EXPECT_EQ(all.count(), 2'000u);
}

TEST(DurationHistogram, CountsSaturate) {
  DurationHistogram histogram;
  histogram.Add(5, kCountMax);
  histogram.Add(5, 7);
  EXPECT_THAT(histogram.buckets(), ElementsAre(Pair(5, kCountMax)));
  histogram.Merge(histogram);
  EXPECT_THAT(histogram.buckets(), ElementsAre(Pair(5, kCountMax)));
}

TEST(DurationHistogram, NothingIsNoBucket) {
  DurationHistogram histogram;
  histogram.Add(5, 0);
  EXPECT_TRUE(histogram.empty());
  EXPECT_EQ(histogram.Quantile(0.5), 0u);
  histogram.Add(5);
  histogram.clear();
  EXPECT_EQ(histogram, DurationHistogram());
}

TEST(DurationHistogram, QuantilesAreThoseOfTheSortedValues) {
  DurationHistogram histogram;
  for (uint64_t ns = 1; ns <= 1'000; ++ns) histogram.Add(ns * 1'000);
  for (const double q : {0.0, 0.01, 0.5, 0.99, 1.0}) {
    const double exact = (1 + std::floor(q * 999)) * 1'000;
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(q)), exact, exact / 32) << q;
  }
  EXPECT_EQ(histogram.Quantile(-1), histogram.Quantile(0));
  EXPECT_EQ(histogram.Quantile(2), histogram.Quantile(1));
}

}  // namespace
}  // namespace eroica

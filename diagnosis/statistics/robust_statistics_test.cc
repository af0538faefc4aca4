#include "diagnosis/statistics/robust_statistics.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "diagnosis/statistics/peer_median.h"
#include "gtest/gtest.h"

namespace eroica {
namespace {

TEST(RobustStatistics, MedianOfOddEvenAndNothing) {
  std::vector<double> odd{5, 1, 3};
  std::vector<double> even{4, 1, 3, 2};
  std::vector<double> none;
  EXPECT_EQ(Median(std::span(odd)), 3);
  EXPECT_EQ(Median(std::span(even)), 2.5);
  EXPECT_EQ(Median(std::span(none)), 0);
}

// Spread evenly, or with ties, in order, in two heaps, wild, or of ranks whose roles alternate:
// large enough to be narrowed to the middle first.
std::vector<std::vector<double>> ManyValues(size_t n) {
  std::mt19937 random(static_cast<uint32_t>(n));
  std::normal_distribution<double> normal(100, 1);
  std::vector<std::vector<double>> many(7, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) {
    many[0][i] = normal(random);
    many[1][i] = std::round(normal(random));
    many[2][i] = static_cast<double>(i);
    many[3][i] = i < n / 2 ? 1 : 2 + normal(random);
    many[4][i] = std::exp(normal(random));
    many[5][i] = static_cast<double>(i % 8) + normal(random) / 1e3;
    many[6][i] = 7;
  }
  return many;
}

TEST(RobustStatistics, MediansOfManyAreThoseOfTheSorted) {
  for (const size_t n : {2'047u, 2'048u, 2'049u, 10'000u, 100'001u}) {
    for (std::vector<double>& values : ManyValues(n)) {
      std::vector<double> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      const double expected = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
      const PeerMedian peers(values);
      ASSERT_EQ(Median(std::span(values)), expected) << n;
      for (const size_t left_out : {size_t{0}, n / 2 - 1, n / 2, n / 2 + 1, n - 1}) {
        std::vector<double> others = sorted;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
        ASSERT_EQ(peers.Without(sorted[left_out]), Median(std::span(others)))
            << n << " without " << left_out;
      }
    }
  }
}

TEST(RobustStatistics, WeightedMedianIsTheQuantileOfAHalf) {
  std::mt19937 random(11);
  EXPECT_EQ(WeightedMedian({}, 1), 0);
  for (int round = 0; round < 500; ++round) {
    std::vector<Weighted> values(1 + random() % 60);
    for (Weighted& entry : values)
      entry = {.value = static_cast<double>(random() % 40),
               .weight = static_cast<double>(1 + random() % 9)};
    const double expected = WeightedQuantile(values, 0.5);
    for (const double guess : {-1.0, 0.0, 7.5, 20.0, expected, 100.0}) {
      std::vector<Weighted> overwritten = values;
      ASSERT_EQ(WeightedMedian(overwritten, guess), expected) << round;
    }
  }
}

TEST(RobustStatistics, MadIgnoresOneWildValue) {
  std::vector<double> values{1, 2, 3, 4, 1e9};
  const MedianAndMad result = TakeMedianAndMad(std::span(values));
  EXPECT_EQ(result.median, 3);
  EXPECT_EQ(result.mad, 1);
}

TEST(RobustStatistics, AllQuestionsTogetherCostWhatTheyMay) {
  double sum = 0;
  for (int n = 1; n <= 100'000; ++n) sum += SpentOnQuestion(n);
  EXPECT_NEAR(sum, 1, 1e-4);
  EXPECT_EQ(SpentOnQuestion(-5), SpentOnQuestion(1));
}

// Each value goes with the one before; rows are as short as windows are.
TEST(RobustStatistics, ShortRowsShowHowNeighborsGoTogether) {
  for (const size_t n : {3u, 4u, 8u, 32u}) {
    for (const double correlation : {0.0, 0.3, 0.6, 0.9}) {
      std::mt19937 random(static_cast<uint32_t>(n));
      std::normal_distribution<double> normal(0, 1);
      double squares = 0;
      double products = 0;
      for (int row = 0; row < 20'000; ++row) {
        std::vector<double> values(n);
        double value = normal(random);
        for (double& one : values) {
          one = value;
          value = correlation * value + std::sqrt(1 - correlation * correlation) * normal(random);
        }
        double mean = 0;
        for (const double one : values) mean += one / static_cast<double>(n);
        for (size_t i = 0; i < n; ++i) {
          squares += (values[i] - mean) * (values[i] - mean);
          if (i > 0) products += (values[i] - mean) * (values[i - 1] - mean);
        }
      }
      EXPECT_NEAR(CorrelationOfRows(n, squares, products), correlation, 0.04) << n;
    }
  }
  EXPECT_EQ(CorrelationOfRows(2, 1, 1), 0) << "of two values one is the other, less the mean";
  EXPECT_EQ(CorrelationOfRows(8, 0, 0), 0);
}

}  // namespace
}  // namespace eroica

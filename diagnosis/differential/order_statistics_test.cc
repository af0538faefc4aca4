#include "diagnosis/differential/order_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace eroica {
namespace {

TEST(OrderStatistics, MedianOfOddEvenAndNothing) {
  EXPECT_EQ(OrderStatistics(std::vector<float>{5, 1, 3}).Median(), 3);
  EXPECT_EQ(OrderStatistics(std::vector<float>{4, 1, 3, 2}).Median(), 2.5);
  EXPECT_EQ(OrderStatistics({}).Median(), 0);
}

TEST(OrderStatistics, OrdersNegativeValuesAndInfinities) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const OrderStatistics statistics(
      std::vector<float>{0.5f, -kInfinity, -2, kInfinity, -0.5f, 1e-40f});
  const std::vector<float> sorted{-kInfinity, -2, -0.5f, 1e-40f, 0.5f, kInfinity};
  for (size_t n = 0; n < sorted.size(); ++n) EXPECT_EQ(statistics.NthSmallest(n), sorted[n]) << n;
}

// Tight clouds, ties, values over many orders of magnitude.
class OrderStatisticsOnMachine : public ::testing::TestWithParam<InstructionSet> {};

TEST_P(OrderStatisticsOnMachine, EqualsSorting) {
  std::mt19937 random(9);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int round = 0; round < 300; ++round) {
    std::vector<float> values(1 + random() % 300);
    for (float& value : values) {
      switch (round % 4) {
        case 0: value = 0.5f + 0.01f * uniform(random); break;
        case 1: value = static_cast<float>(random() % 5); break;
        case 2:
          value = uniform(random) * std::ldexp(1.0f, static_cast<int>(random() % 200) - 100);
          break;
        default: value = random() % 20 == 0 ? 1e6f : 0;
      }
    }
    const OrderStatistics statistics(values);
    std::sort(values.begin(), values.end());
    for (size_t n = 0; n < values.size(); n += 1 + n / 8)
      ASSERT_EQ(statistics.NthSmallest(n, GetParam()), values[n]) << round << " " << n;
    ASSERT_EQ(statistics.NthSmallest(values.size() - 1, GetParam()), values.back()) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, OrderStatisticsOnMachine,
                         ::testing::ValuesIn(AvailableInstructionSets()));

TEST(OrderStatisticsDeathTest, ThereIsNoValueBeyondTheLast) {
  EXPECT_DEATH(OrderStatistics(std::vector<float>{1, 2}).NthSmallest(2), "n < keys_.size");
}

}  // namespace
}  // namespace eroica

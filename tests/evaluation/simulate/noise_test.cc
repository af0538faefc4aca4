#include "tests/evaluation/simulate/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace eroica::simulate {
namespace {

TEST(LogNormalTable, HasTheMomentsOfItsDistribution) {
  const LogNormalTable table(0.2);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const double log = std::log(
        static_cast<double>(table.Of(NoiseKey(1, 2, 3, static_cast<uint64_t>(i)))) / kUnit);
    sum += log;
    squares += log * log;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.002);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.2, 0.002);
}

TEST(LogNormalTable, IsTheSameOnEveryMachine) {
  const LogNormalTable table(0.05);
  uint64_t hash = 0;
  for (uint64_t i = 0; i < 4096; ++i) hash = Mix(hash ^ table.Of(i << 52));
  EXPECT_EQ(hash, 13845123658504619995u);
}

TEST(LogNormalTable, WithoutSpreadChangesNothing) {
  const LogNormalTable table(0);
  for (uint64_t i = 0; i < 4096; ++i) EXPECT_EQ(table.Of(i << 52), kUnit);
}

TEST(Quantiles, OfStudentsTHaveItsTails) {
  // Quantiles of 0.95 and 0.999, as tables of the distribution have them, over its deviation.
  struct Row {
    uint32_t degrees;
    double at_95;
    double at_999;
  };
  for (const Row& row :
       {Row{3, 2.353, 10.215}, Row{4, 2.132, 7.173}, Row{5, 2.015, 5.893}, Row{10, 1.812, 4.144}}) {
    const Quantiles quantiles(row.degrees);
    const double degrees = row.degrees;
    const double deviation = std::sqrt(degrees / (degrees - 2));
    const auto at = [&](double share) {
      return quantiles.all()[static_cast<size_t>(share * 4096)] * deviation;
    };
    EXPECT_NEAR(at(0.95), row.at_95, 0.01 * row.at_95) << row.degrees;
    EXPECT_NEAR(at(0.999), row.at_999, 0.04 * row.at_999) << row.degrees;
    EXPECT_NEAR(at(0.5), 0, 0.001) << row.degrees;
    for (size_t i = 0; i < 2048; ++i)
      EXPECT_EQ(quantiles.all()[i], -quantiles.all()[4095 - i]) << row.degrees;
  }
}

TEST(Quantiles, AreThoseOfTheNormalDistributionWithoutDegrees) {
  const Quantiles quantiles(0);
  EXPECT_NEAR(quantiles.all()[static_cast<size_t>(0.975 * 4096)], 1.96, 0.005);
  EXPECT_NEAR(quantiles.all()[4095], 3.67, 0.01);
}

TEST(LogNormalTable, WithTailsKeepsItsDeviation) {
  const LogNormalTable table(0.05, 4);
  double squares = 0;
  double longest = 0;
  for (uint64_t i = 0; i < 4096; ++i) {
    const double log = std::log(static_cast<double>(table.Of(i << 52)) / kUnit);
    squares += log * log;
    longest = std::max(longest, log);
  }
  EXPECT_NEAR(std::sqrt(squares / 4096), 0.05, 0.003);
  EXPECT_GT(longest, 6 * 0.05);
}

TEST(LogFactor, IsAnExponentialWithinBounds) {
  EXPECT_EQ(LogFactor(0), kUnit);
  EXPECT_NEAR(LogFactor(1), 2.718281828 * kUnit, 2);
  EXPECT_EQ(LogFactor(1e9), LogFactor(7));
  EXPECT_EQ(LogFactor(-1e9), LogFactor(-7));
  EXPECT_GT(LogFactor(-7), 0u);
}

TEST(CorrelatedNoise, RemembersTheStepsBefore) {
  for (const double correlation : {0.0, 0.4, 0.8}) {
    const CorrelatedNoise noise(correlation, 0);
    double squares = 0;
    double products = 0;
    double before = noise.Of(7, 0);
    constexpr uint32_t kSteps = 40'000;
    for (uint32_t step = 1; step <= kSteps; ++step) {
      const double now = noise.Of(7, step);
      squares += now * now;
      products += now * before;
      before = now;
    }
    EXPECT_NEAR(std::sqrt(squares / kSteps), 1, 0.05) << correlation;
    EXPECT_NEAR(products / squares, correlation, 0.03) << correlation;
    EXPECT_EQ(noise.Of(7, 12), noise.Of(7, 12));
    EXPECT_NE(noise.Of(7, 12), noise.Of(8, 12));
  }
}

TEST(UniformNoise, HasItsMomentsAndNoTail) {
  const UniformNoise noise(0.1);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double factor =
        static_cast<double>(noise.Of(NoiseKey(1, 2, 3, static_cast<uint64_t>(i)))) / kUnit;
    EXPECT_NEAR(factor, 1, 0.18);
    sum += factor;
    squares += factor * factor;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 1, 0.001);
  EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), 0.1, 0.001);
  EXPECT_EQ(UniformNoise(0).Of(~uint64_t{0}), kUnit);
}

TEST(NoiseKey, DependsOnEveryPartAndOnTheirOrder) {
  EXPECT_NE(NoiseKey(1, 2, 3, 4), NoiseKey(2, 1, 3, 4));
  EXPECT_NE(NoiseKey(1, 2, 3, 4), NoiseKey(1, 3, 2, 4));
  EXPECT_NE(NoiseKey(1, 2, 3, 4), NoiseKey(1, 2, 4, 3));
}

}  // namespace
}  // namespace eroica::simulate

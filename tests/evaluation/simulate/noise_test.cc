#include "tests/evaluation/simulate/noise.h"

#include <gtest/gtest.h>

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

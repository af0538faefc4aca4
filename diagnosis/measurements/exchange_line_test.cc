#include "diagnosis/measurements/exchange_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace eroica {
namespace {

TEST(TimeExplainedByBytes, IsOnTheLineOfThePeers) {
  const std::vector<double> bytes = {100, 110, 90, 105};
  const std::vector<double> times = {10, 11, 9, 10.5};
  EXPECT_NEAR(TimeExplainedByBytes(bytes, times, 200, 30).value_or(0), 20, 1e-9);
  EXPECT_NEAR(TimeExplainedByBytes(bytes, times, 100, 30).value_or(0), 10, 1e-9)
      << "a slow rank does not bend it";
}

TEST(TimeExplainedByBytes, NothingWhereTimeDoesNotGoWithBytes) {
  const std::vector<double> bytes = {100, 110, 90, 105};
  EXPECT_FALSE(
      TimeExplainedByBytes(bytes, std::vector<double>{10, 10.01, 10.01, 10}, 200, 30).has_value());
  EXPECT_FALSE(
      TimeExplainedByBytes(bytes, std::vector<double>{10, 9, 11, 9.5}, 200, 30).has_value())
      << "less time for more bytes";
  EXPECT_FALSE(TimeExplainedByBytes(bytes, std::vector<double>{10, 14, 6, 12}, 200, 30).has_value())
      << "four times as steep";
  EXPECT_FALSE(
      TimeExplainedByBytes(std::vector<double>{100, 110}, std::vector<double>{10, 11}, 200, 30)
          .has_value())
      << "two points are no line";
}

TEST(TimeExplainedByBytes, WherePeersDoNotDifferTheProportionDecides) {
  const std::vector<double> bytes(4, 100);
  const std::vector<double> times(4, 10);
  EXPECT_EQ(TimeExplainedByBytes(bytes, times, 150, 15).value_or(0), 15);
  EXPECT_EQ(TimeExplainedByBytes(bytes, times, 150, 20).value_or(0), 20)
      << "bytes of both directions, of which one grows";
  EXPECT_FALSE(TimeExplainedByBytes(bytes, times, 150, 10.5).has_value());
  EXPECT_FALSE(TimeExplainedByBytes(bytes, times, 100, 15).has_value());
}

// What else lengthens the peers' kernels hides no rank that exchanges far more than any of them.
TEST(TimeExplainedByBytes, ABlurredLineIsEnoughForWhoLiesFarBeyond) {
  const std::vector<double> bytes = {100, 110, 90, 105};
  const std::vector<double> times = {10, 10.5, 9.5, 9.8};
  EXPECT_EQ(TimeExplainedByBytes(bytes, times, 160, 15).value_or(0), 15);
  EXPECT_FALSE(TimeExplainedByBytes(bytes, times, 160, 10.5).has_value());
  EXPECT_FALSE(TimeExplainedByBytes(bytes, times, 120, 12).has_value()) << "not far";
}

TEST(RelativeRange, IsThatOverTheMedian) {
  EXPECT_DOUBLE_EQ(RelativeRange(std::vector<double>{100, 90, 120}), 0.3);
  EXPECT_DOUBLE_EQ(RelativeRange({}), 0);
}

}  // namespace
}  // namespace eroica

#include "diagnosis/statistics/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace eroica {
namespace {

TEST(BinomialTail, MatchesTheSumOfItsTerms) {
  EXPECT_DOUBLE_EQ(BinomialTail(10, 0, 0.3), 1);
  EXPECT_EQ(BinomialTail(10, 11, 0.3), 0);
  EXPECT_EQ(BinomialTail(10, 3, 0), 0);
  EXPECT_EQ(BinomialTail(10, 3, 1), 1);
  EXPECT_NEAR(BinomialTail(2, 1, 0.5), 0.75, 1e-12);
  EXPECT_NEAR(BinomialTail(24, 21, 0.25), 2.0323e-10, 1e-14);  // rank 1 of slow_compute_4r
  EXPECT_NEAR(BinomialTail(24, 11, 0.25), 0.0213, 2e-4);       // rank 3 of healthy_4r
  EXPECT_NEAR(BinomialTail(1'000'000, 499'000, 0.5), 0.9773, 1e-3);
  EXPECT_GT(BinomialTail(100, 100, 0.01), 0);
}

TEST(StudentTail, IsThatOfTheTables) {
  EXPECT_DOUBLE_EQ(StudentTail(0, 5), 0.5);
  EXPECT_NEAR(StudentTail(1, 1), 0.25, 1e-12);  // Cauchy
  EXPECT_NEAR(StudentTail(2.015, 5), 0.05, 1e-4);
  EXPECT_NEAR(StudentTail(3.365, 5), 0.01, 1e-4);
  EXPECT_NEAR(StudentTail(-2.015, 5), 0.95, 1e-4);
  EXPECT_NEAR(StudentTail(3, 1e6), 0.00134990, 1e-6);  // normal
  EXPECT_NEAR(StudentTail(10, 21) / 9.6e-10, 1, 0.05);
}

TEST(FisherTail, OfTwoMeansIsStudents) {
  for (const double freedom : {3.0, 14.0, 60.0})
    EXPECT_NEAR(FisherTail(2.5 * 2.5, 1, freedom), 2 * StudentTail(2.5, freedom), 1e-9);
  EXPECT_NEAR(FisherTail(3.39, 9, 8), 0.05, 1e-4);
  EXPECT_EQ(FisherTail(0, 3, 7), 1);
}

TEST(Distributions, WithoutFreedomEverythingMayBeNoise) {
  for (const double freedom : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(StudentTail(1e9, freedom), 1);
    EXPECT_EQ(FisherTail(1e9, freedom, 3), 1);
    EXPECT_EQ(FisherTail(1e9, 3, freedom), 1);
  }
}

TEST(Distributions, WhatIsOutOfRangeHasItsLimit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(StudentTail(kInfinity, 3), 0);
  EXPECT_EQ(StudentTail(-kInfinity, 3), 1);
  EXPECT_EQ(FisherTail(kInfinity, 2, 3), 0);
  EXPECT_EQ(FisherTail(-1, 2, 3), 1);
  EXPECT_EQ(BinomialTail(5, 6, 0.5), 0);
  EXPECT_EQ(BinomialTail(5, 5, 1), 1);
  EXPECT_GT(StudentTail(40, 1'000), 0) << "accurate far out";
}

}  // namespace
}  // namespace eroica

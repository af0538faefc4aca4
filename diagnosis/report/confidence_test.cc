#include "diagnosis/report/confidence.h"

#include <gtest/gtest.h>

#include "diagnosis/deciding_numbers.h"

namespace eroica {
namespace {

TEST(Confidence, IsOneWithoutItsDoubtThatComesTrue) {
  EXPECT_DOUBLE_EQ(ConfidenceAfter(0.8, 1, 1), 1 - kWrongOfDoubt * 0.2);
  EXPECT_DOUBLE_EQ(ConfidenceAfter(0, 1, 1), 1 - kWrongOfDoubt);
  EXPECT_DOUBLE_EQ(ConfidenceAfter(0.8, 4, 1), 1 - kWrongOfDoubt * 0.1);
}

TEST(Confidence, GrowsWithTheWindowsThatAgree) {
  for (uint64_t windows = 1; windows < 100; ++windows) {
    EXPECT_LE(ConfidenceAfter(0.6, windows, 1), ConfidenceAfter(0.6, windows + 1, 1));
    EXPECT_LE(ConfidenceAfter(0.6, windows, 1), ConfidenceAfter(0.7, windows, 1));
    EXPECT_LT(ConfidenceAfter(1, windows, 1), 1);
  }
}

TEST(Confidence, WhatIsNotToldStaysDoubtful) {
  EXPECT_DOUBLE_EQ(ConfidenceAfter(1, 1, 0.5), 1 - kWrongOfDoubt * 0.5);
  EXPECT_LE(ConfidenceAfter(0.9, 1000, 0.5), ConfidenceAfter(1, 1, 0.5));
}

TEST(Confidence, FirstIsFoundAgain) {
  for (const double told : {0.25, 1.0}) {
    for (const double first : {0.0, 0.3, 0.9})
      EXPECT_NEAR(FirstOf(ConfidenceAfter(first, 1, told), told), first, 0.01);
  }
  EXPECT_EQ(FirstOf(0.9, 0), 0);
}

TEST(Confidence, LossAndSilenceCount) {
  Finding finding;
  EXPECT_DOUBLE_EQ(ToldShare(finding), 1);
  finding.events = 900;
  finding.events_lost = 100;
  finding.ranks_seen = 6;
  finding.world_size = 8;
  EXPECT_DOUBLE_EQ(ToldShare(finding), 0.9 * 0.75);
}

}  // namespace
}  // namespace eroica

#include "diagnosis/report/confidence.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(Confidence, OneWindowIsWorthItsOwnEvidence) {
  EXPECT_DOUBLE_EQ(ConfidenceAfter(0.8, 1, 1), 0.8);
}

TEST(Confidence, GrowsWithTheWindowsThatAgree) {
  EXPECT_DOUBLE_EQ(ConfidenceAfter(0.8, 4, 1), 0.9);
  EXPECT_DOUBLE_EQ(ConfidenceAfter(0.8, 10, 1), 0.95);
  for (uint64_t windows = 1; windows < 100; ++windows) {
    EXPECT_LE(ConfidenceAfter(0.6, windows, 1), ConfidenceAfter(0.6, windows + 1, 1));
    EXPECT_LE(ConfidenceAfter(0.6, windows, 1), ConfidenceAfter(0.7, windows, 1));
  }
}

TEST(Confidence, WhatIsNotToldStaysDoubtful) {
  EXPECT_DOUBLE_EQ(ConfidenceAfter(0.9, 1, 0.5), 0.45);
  EXPECT_LE(ConfidenceAfter(0.9, 1000, 0.5), 0.5);
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

#include "producers/python/stack_attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Piece = std::tuple<int64_t, int64_t, uint32_t>;

constexpr int64_t kMs = 1'000'000;

class StackAttributionTest : public ::testing::Test {
 protected:
  std::vector<Piece> pieces_;
  StackAttribution attribution_{[this](int64_t start, int64_t end, uint32_t leaf) {
    pieces_.emplace_back(start, end, leaf);
  }};
};

TEST_F(StackAttributionTest, EqualStacksAreOneInterval) {
  attribution_.Sample(0, 1 * kMs, 7);
  attribution_.Sample(20 * kMs, 21 * kMs, 7);
  attribution_.Sample(40 * kMs, 41 * kMs, 7);
  EXPECT_THAT(pieces_, IsEmpty());
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(0, 41 * kMs, 7)));
}

TEST_F(StackAttributionTest, BetweenTwoStacksEachHasHalf) {
  attribution_.Sample(0, 10 * kMs, 1);
  attribution_.Sample(20 * kMs, 24 * kMs, 2);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(0, 15 * kMs, 1), Piece(15 * kMs, 24 * kMs, 2)));
}

TEST_F(StackAttributionTest, AKnownBoundaryBetweenTwoStacksDividesThem) {
  attribution_.Sample(0, 10 * kMs, 1);
  attribution_.Sample(30 * kMs, 34 * kMs, 2, 12 * kMs);
  attribution_.Sample(50 * kMs, 60 * kMs, 3, 57 * kMs);  // passed while the request stood
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(0, 12 * kMs, 1), Piece(12 * kMs, 57 * kMs, 2),
                                   Piece(57 * kMs, 60 * kMs, 3)));
}

TEST_F(StackAttributionTest, ABoundaryBeforeTheFirstOfTwoStacksDividesNothing) {
  attribution_.Sample(5 * kMs, 10 * kMs, 1, 7 * kMs);
  attribution_.Sample(20 * kMs, 24 * kMs, 2, 7 * kMs);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(7 * kMs, 15 * kMs, 1), Piece(15 * kMs, 24 * kMs, 2)));
}

TEST_F(StackAttributionTest, ALongCallBelongsToWhereItEnded) {
  attribution_.Sample(0, 0, 1);
  attribution_.Sample(20 * kMs, 90 * kMs, 2);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(0, 10 * kMs, 1), Piece(10 * kMs, 90 * kMs, 2)));
}

TEST_F(StackAttributionTest, LongIntervalsAreCutAndHaveNoHoles) {
  for (int64_t i = 0; i < 12; ++i) attribution_.Sample(i * 20 * kMs, i * 20 * kMs, 3);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(0, 100 * kMs, 3), Piece(100 * kMs, 200 * kMs, 3),
                                   Piece(200 * kMs, 220 * kMs, 3)));
}

TEST_F(StackAttributionTest, HoursInOneCallAreABoundedNumberOfPieces) {
  constexpr int64_t kHour = int64_t{3'600'000} * kMs;
  attribution_.Sample(0, 0, 1);
  attribution_.Sample(20 * kMs, kHour, 1);
  attribution_.Finish();
  EXPECT_LE(pieces_.size(), 257u);
  EXPECT_EQ(std::get<0>(pieces_.front()), 0);
  EXPECT_EQ(std::get<1>(pieces_.back()), kHour);
}

TEST_F(StackAttributionTest, AfterFinishTheTimeBetweenBelongsToNobody) {
  attribution_.Sample(0, 5 * kMs, 1);
  attribution_.Finish();
  attribution_.Sample(50 * kMs, 60 * kMs, 1);
  attribution_.Finish();
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(0, 5 * kMs, 1), Piece(50 * kMs, 60 * kMs, 1)));
}

TEST_F(StackAttributionTest, ClocksThatGoBackMakeNoNegativeInterval) {
  attribution_.Sample(10 * kMs, 9 * kMs, 1);
  attribution_.Sample(5 * kMs, 4 * kMs, 2);
  attribution_.Sample(3 * kMs, 20 * kMs, 3);
  attribution_.Finish();
  for (const auto& [start, end, leaf] : pieces_) EXPECT_LT(start, end) << leaf;
  EXPECT_EQ(std::get<1>(pieces_.back()), 20 * kMs);
}

// Two samples in steps that follow each other, both inside the collective at their ends, would
// cover all that lies between.
TEST_F(StackAttributionTest, WhatRunsInsideACollectiveStandsForNothingElse) {
  attribution_.Sample(0, 10 * kMs, 1);
  attribution_.Interrupt(15 * kMs);
  attribution_.Interrupt(15 * kMs);
  attribution_.Sample(40 * kMs, 40 * kMs, 2, 30 * kMs);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(0, 15 * kMs, 1), Piece(30 * kMs, 40 * kMs, 2)));
}

// Or ranks that wait longer would seem to run less of everything.
TEST_F(StackAttributionTest, AStepThatNoOtherStackWasSeenInIsThatOfTheStackBefore) {
  attribution_.Sample(0, 10 * kMs, 1);
  attribution_.Interrupt(15 * kMs);
  attribution_.Interrupt(80 * kMs);
  attribution_.Sample(90 * kMs, 90 * kMs, 1, 85 * kMs);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(0, 15 * kMs, 1), Piece(15 * kMs, 80 * kMs, 1),
                                   Piece(85 * kMs, 90 * kMs, 1)));
}

TEST_F(StackAttributionTest, BeforeTheFirstStackNothingIsInterrupted) {
  attribution_.Interrupt(15 * kMs);
  attribution_.Sample(18 * kMs, 20 * kMs, 2, 16 * kMs);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(18 * kMs, 20 * kMs, 2)));
}

}  // namespace
}  // namespace eroica

#include "producers/python/stack_attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Piece = std::tuple<int64_t, int64_t, uint32_t>;

class StackAttributionTest : public ::testing::Test {
 protected:
  std::vector<Piece> pieces_;
  StackAttribution attribution_{[this](int64_t start, int64_t end, uint32_t leaf) {
    pieces_.emplace_back(start, end, leaf);
  }};
};

TEST_F(StackAttributionTest, EqualStacksAreOneInterval) {
  attribution_.Sample(0, 1 * kNsPerMs, 7);
  attribution_.Sample(20 * kNsPerMs, 21 * kNsPerMs, 7);
  attribution_.Sample(40 * kNsPerMs, 41 * kNsPerMs, 7);
  EXPECT_THAT(pieces_, IsEmpty());
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(0, 41 * kNsPerMs, 7)));
}

TEST_F(StackAttributionTest, BetweenTwoStacksEachHasHalf) {
  attribution_.Sample(0, 10 * kNsPerMs, 1);
  attribution_.Sample(20 * kNsPerMs, 24 * kNsPerMs, 2);
  attribution_.Finish();
  EXPECT_THAT(pieces_,
              ElementsAre(Piece(0, 15 * kNsPerMs, 1), Piece(15 * kNsPerMs, 24 * kNsPerMs, 2)));
}

TEST_F(StackAttributionTest, AKnownBoundaryBetweenTwoStacksDividesThem) {
  attribution_.Sample(0, 10 * kNsPerMs, 1);
  attribution_.Sample(30 * kNsPerMs, 34 * kNsPerMs, 2, 12 * kNsPerMs);
  attribution_.Sample(50 * kNsPerMs, 60 * kNsPerMs, 3,
                      57 * kNsPerMs);  // passed while the request stood
  attribution_.Finish();
  EXPECT_THAT(pieces_,
              ElementsAre(Piece(0, 12 * kNsPerMs, 1), Piece(12 * kNsPerMs, 57 * kNsPerMs, 2),
                          Piece(57 * kNsPerMs, 60 * kNsPerMs, 3)));
}

TEST_F(StackAttributionTest, ABoundaryBeforeTheFirstOfTwoStacksDividesNothing) {
  attribution_.Sample(5 * kNsPerMs, 10 * kNsPerMs, 1, 7 * kNsPerMs);
  attribution_.Sample(20 * kNsPerMs, 24 * kNsPerMs, 2, 7 * kNsPerMs);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(7 * kNsPerMs, 15 * kNsPerMs, 1),
                                   Piece(15 * kNsPerMs, 24 * kNsPerMs, 2)));
}

TEST_F(StackAttributionTest, ALongCallBelongsToWhereItEnded) {
  attribution_.Sample(0, 0, 1);
  attribution_.Sample(20 * kNsPerMs, 90 * kNsPerMs, 2);
  attribution_.Finish();
  EXPECT_THAT(pieces_,
              ElementsAre(Piece(0, 10 * kNsPerMs, 1), Piece(10 * kNsPerMs, 90 * kNsPerMs, 2)));
}

TEST_F(StackAttributionTest, LongIntervalsAreCutAndHaveNoHoles) {
  for (int64_t i = 0; i < 12; ++i) attribution_.Sample(i * 20 * kNsPerMs, i * 20 * kNsPerMs, 3);
  attribution_.Finish();
  EXPECT_THAT(pieces_,
              ElementsAre(Piece(0, 100 * kNsPerMs, 3), Piece(100 * kNsPerMs, 200 * kNsPerMs, 3),
                          Piece(200 * kNsPerMs, 220 * kNsPerMs, 3)));
}

TEST_F(StackAttributionTest, HoursInOneCallAreABoundedNumberOfPieces) {
  constexpr int64_t kHour = int64_t{3'600'000} * kNsPerMs;
  attribution_.Sample(0, 0, 1);
  attribution_.Sample(20 * kNsPerMs, kHour, 1);
  attribution_.Finish();
  EXPECT_LE(pieces_.size(), 257u);
  EXPECT_EQ(std::get<0>(pieces_.front()), 0);
  EXPECT_EQ(std::get<1>(pieces_.back()), kHour);
}

TEST_F(StackAttributionTest, AfterFinishTheTimeBetweenBelongsToNobody) {
  attribution_.Sample(0, 5 * kNsPerMs, 1);
  attribution_.Finish();
  attribution_.Sample(50 * kNsPerMs, 60 * kNsPerMs, 1);
  attribution_.Finish();
  attribution_.Finish();
  EXPECT_THAT(pieces_,
              ElementsAre(Piece(0, 5 * kNsPerMs, 1), Piece(50 * kNsPerMs, 60 * kNsPerMs, 1)));
}

TEST_F(StackAttributionTest, ClocksThatGoBackMakeNoNegativeInterval) {
  attribution_.Sample(10 * kNsPerMs, 9 * kNsPerMs, 1);
  attribution_.Sample(5 * kNsPerMs, 4 * kNsPerMs, 2);
  attribution_.Sample(3 * kNsPerMs, 20 * kNsPerMs, 3);
  attribution_.Finish();
  for (const auto& [start, end, leaf] : pieces_) EXPECT_LT(start, end) << leaf;
  EXPECT_EQ(std::get<1>(pieces_.back()), 20 * kNsPerMs);
}

// Two samples in steps that follow each other, both inside the collective at their ends, would
// cover all that lies between.
TEST_F(StackAttributionTest, WhatRunsInsideACollectiveStandsForNothingElse) {
  attribution_.Sample(0, 10 * kNsPerMs, 1);
  attribution_.Interrupt(15 * kNsPerMs);
  attribution_.Interrupt(15 * kNsPerMs);
  attribution_.Sample(40 * kNsPerMs, 40 * kNsPerMs, 2, 30 * kNsPerMs);
  attribution_.Finish();
  EXPECT_THAT(pieces_,
              ElementsAre(Piece(0, 15 * kNsPerMs, 1), Piece(30 * kNsPerMs, 40 * kNsPerMs, 2)));
}

// Or ranks that wait longer would seem to run less of everything.
TEST_F(StackAttributionTest, AStepThatNoOtherStackWasSeenInIsThatOfTheStackBefore) {
  attribution_.Sample(0, 10 * kNsPerMs, 1);
  attribution_.Interrupt(15 * kNsPerMs);
  attribution_.Interrupt(80 * kNsPerMs);
  attribution_.Sample(90 * kNsPerMs, 90 * kNsPerMs, 1, 85 * kNsPerMs);
  attribution_.Finish();
  EXPECT_THAT(pieces_,
              ElementsAre(Piece(0, 15 * kNsPerMs, 1), Piece(15 * kNsPerMs, 80 * kNsPerMs, 1),
                          Piece(85 * kNsPerMs, 90 * kNsPerMs, 1)));
}

TEST_F(StackAttributionTest, BeforeTheFirstStackNothingIsInterrupted) {
  attribution_.Interrupt(15 * kNsPerMs);
  attribution_.Sample(18 * kNsPerMs, 20 * kNsPerMs, 2, 16 * kNsPerMs);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(18 * kNsPerMs, 20 * kNsPerMs, 2)));
}

}  // namespace
}  // namespace eroica

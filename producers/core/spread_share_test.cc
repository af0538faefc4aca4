#include "producers/core/spread_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Pieces = std::vector<std::pair<int64_t, int64_t>>;

Pieces PiecesOf(int64_t start_ns, int64_t end_ns, double share, CellSide side) {
  Pieces pieces;
  SpreadShare(start_ns, end_ns, share, side,
              [&](int64_t begin, int64_t end) { pieces.emplace_back(begin, end); });
  return pieces;
}

int64_t LengthOf(const Pieces& pieces) {
  int64_t length_ns = 0;
  for (const auto& [begin, end] : pieces) length_ns += end - begin;
  return length_ns;
}

TEST(SpreadShare, EveryCellHasItsPartAtTheSideAskedFor) {
  EXPECT_THAT(PiecesOf(100 * kNsPerMs, 120 * kNsPerMs, 0.3, CellSide::kBegin),
              ElementsAre(std::pair(100 * kNsPerMs, 103 * kNsPerMs),
                          std::pair(110 * kNsPerMs, 113 * kNsPerMs)));
  EXPECT_THAT(PiecesOf(100 * kNsPerMs, 120 * kNsPerMs, 0.3, CellSide::kEnd),
              ElementsAre(std::pair(107 * kNsPerMs, 110 * kNsPerMs),
                          std::pair(117 * kNsPerMs, 120 * kNsPerMs)));
}

TEST(SpreadShare, CellsThatAreCutOffHaveTheShareOfWhatIsThere) {
  EXPECT_THAT(PiecesOf(106 * kNsPerMs, 114 * kNsPerMs, 0.5, CellSide::kBegin),
              ElementsAre(std::pair(106 * kNsPerMs, 108 * kNsPerMs),
                          std::pair(110 * kNsPerMs, 112 * kNsPerMs)));
}

TEST(SpreadShare, AddsUpToTheShare) {
  for (const double share : {0.01, 0.33, 0.9, 1.0}) {
    const int64_t length_ns = LengthOf(PiecesOf(1'234'567, 987'654'321, share, CellSide::kEnd));
    EXPECT_NEAR(static_cast<double>(length_ns) / (987'654'321 - 1'234'567), share, 1e-6) << share;
  }
}

TEST(SpreadShare, BeginningsAndEndsOfOneStretchDoNotMeet) {
  const Pieces begins = PiecesOf(3 * kNsPerMs, 977 * kNsPerMs, 0.61, CellSide::kBegin);
  const Pieces ends = PiecesOf(3 * kNsPerMs, 977 * kNsPerMs, 0.39, CellSide::kEnd);
  ASSERT_EQ(begins.size(), ends.size());
  for (size_t i = 0; i < begins.size(); ++i) EXPECT_LE(begins[i].second, ends[i].first + 1);
}

TEST(SpreadShare, HoursAreABoundedNumberOfPieces) {
  EXPECT_LE(PiecesOf(0, int64_t{7'200'000} * kNsPerMs, 0.5, CellSide::kBegin).size(),
            static_cast<size_t>(kMostSpreadCells) + 1);
}

TEST(SpreadShare, NothingComesOfNothing) {
  EXPECT_THAT(PiecesOf(5, 5, 1, CellSide::kBegin), IsEmpty());
  EXPECT_THAT(PiecesOf(9, 5, 1, CellSide::kBegin), IsEmpty());
  EXPECT_THAT(PiecesOf(0, kNsPerMs, 0, CellSide::kBegin), IsEmpty());
  EXPECT_THAT(PiecesOf(0, kNsPerMs, -1, CellSide::kEnd), IsEmpty());
  EXPECT_THAT(PiecesOf(0, kNsPerMs, std::nan(""), CellSide::kEnd), IsEmpty());
  EXPECT_THAT(PiecesOf(0, kNsPerMs, std::numeric_limits<double>::infinity(), CellSide::kEnd),
              ElementsAre(std::pair(int64_t{0}, kNsPerMs)));
}

}  // namespace
}  // namespace eroica

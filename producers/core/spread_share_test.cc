#include "producers/core/spread_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Pieces = std::vector<std::pair<int64_t, int64_t>>;

constexpr int64_t kMs = 1'000'000;

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
  EXPECT_THAT(PiecesOf(100 * kMs, 120 * kMs, 0.3, CellSide::kBegin),
              ElementsAre(std::pair(100 * kMs, 103 * kMs), std::pair(110 * kMs, 113 * kMs)));
  EXPECT_THAT(PiecesOf(100 * kMs, 120 * kMs, 0.3, CellSide::kEnd),
              ElementsAre(std::pair(107 * kMs, 110 * kMs), std::pair(117 * kMs, 120 * kMs)));
}

TEST(SpreadShare, CellsThatAreCutOffHaveTheShareOfWhatIsThere) {
  EXPECT_THAT(PiecesOf(106 * kMs, 114 * kMs, 0.5, CellSide::kBegin),
              ElementsAre(std::pair(106 * kMs, 108 * kMs), std::pair(110 * kMs, 112 * kMs)));
}

TEST(SpreadShare, AddsUpToTheShare) {
  for (const double share : {0.01, 0.33, 0.9, 1.0}) {
    const int64_t length_ns = LengthOf(PiecesOf(1'234'567, 987'654'321, share, CellSide::kEnd));
    EXPECT_NEAR(static_cast<double>(length_ns) / (987'654'321 - 1'234'567), share, 1e-6) << share;
  }
}

TEST(SpreadShare, BeginningsAndEndsOfOneStretchDoNotMeet) {
  const Pieces begins = PiecesOf(3 * kMs, 977 * kMs, 0.61, CellSide::kBegin);
  const Pieces ends = PiecesOf(3 * kMs, 977 * kMs, 0.39, CellSide::kEnd);
  ASSERT_EQ(begins.size(), ends.size());
  for (size_t i = 0; i < begins.size(); ++i) EXPECT_LE(begins[i].second, ends[i].first + 1);
}

TEST(SpreadShare, HoursAreABoundedNumberOfPieces) {
  EXPECT_LE(PiecesOf(0, int64_t{7'200'000} * kMs, 0.5, CellSide::kBegin).size(),
            static_cast<size_t>(kMostSpreadCells) + 1);
}

TEST(SpreadShare, NothingComesOfNothing) {
  EXPECT_THAT(PiecesOf(5, 5, 1, CellSide::kBegin), IsEmpty());
  EXPECT_THAT(PiecesOf(9, 5, 1, CellSide::kBegin), IsEmpty());
  EXPECT_THAT(PiecesOf(0, kMs, 0, CellSide::kBegin), IsEmpty());
  EXPECT_THAT(PiecesOf(0, kMs, -1, CellSide::kEnd), IsEmpty());
  EXPECT_THAT(PiecesOf(0, kMs, std::nan(""), CellSide::kEnd), IsEmpty());
  EXPECT_THAT(PiecesOf(0, kMs, std::numeric_limits<double>::infinity(), CellSide::kEnd),
              ElementsAre(std::pair(int64_t{0}, kMs)));
}

}  // namespace
}  // namespace eroica

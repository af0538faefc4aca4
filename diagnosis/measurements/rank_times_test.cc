#include "diagnosis/measurements/rank_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

RankTimes WindowOf(const std::vector<uint32_t>& ranks) {
  RankTimes window;
  for (const uint32_t rank : ranks)
    window.rows.push_back({.rank = rank, .busy_ns = static_cast<float>(rank), .wait_ns = 1});
  return window;
}

// Positions among those asked for, and ranks of the rows.
std::vector<std::pair<size_t, uint32_t>> Met(const std::vector<uint32_t>& numbers,
                                             const RankTimes& window) {
  std::vector<std::pair<size_t, uint32_t>> met;
  ForEachRankTime(numbers, window,
                  [&met](size_t i, const RankTime& row) { met.emplace_back(i, row.rank); });
  return met;
}

TEST(RankTimes, RowsAreMetByRank) {
  EXPECT_THAT(Met({0, 1, 2}, WindowOf({0, 1, 2})), ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2)));
  EXPECT_THAT(Met({1, 4}, WindowOf({0, 1, 2, 3, 4, 5})), ElementsAre(Pair(0, 1), Pair(1, 4)));
  EXPECT_THAT(Met({1, 2, 3}, WindowOf({0, 2, 5})), ElementsAre(Pair(1, 2)));
  EXPECT_THAT(Met({}, WindowOf({0})), IsEmpty());
  EXPECT_THAT(Met({0}, WindowOf({})), IsEmpty());
  EXPECT_THAT(Met({7, 8}, WindowOf({0, 1, 2})), IsEmpty());
}

TEST(RankTimes, AFewOfManyAreMetWhereverTheyLie) {
  std::vector<uint32_t> all;
  for (uint32_t rank = 0; rank < 1'000; ++rank) all.push_back(3 * rank);
  const RankTimes window = WindowOf(all);
  for (uint32_t stride = 1; stride < 700; stride += 3) {
    std::vector<uint32_t> some;
    std::vector<std::pair<size_t, uint32_t>> expected;
    for (uint32_t number = stride % 5; number < 3'100; number += stride) {
      if (number % 3 == 0 && number < 3'000) expected.emplace_back(some.size(), number);
      some.push_back(number);
    }
    EXPECT_EQ(Met(some, window), expected) << stride;
  }
}

}  // namespace
}  // namespace eroica

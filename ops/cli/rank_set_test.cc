#include "ops/cli/rank_set.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(RankSet, WithoutWordsItIsEveryRank) {
  EXPECT_TRUE(RankSet().Contains(0));
  EXPECT_TRUE(RankSet().Contains(4'000'000'000));
}

TEST(RankSet, RangesAndSingleRanks) {
  const absl::StatusOr<RankSet> ranks = RankSet::Parse("0-3,7,12-12");
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  for (const uint32_t rank : {0u, 3u, 7u, 12u}) EXPECT_TRUE(ranks->Contains(rank)) << rank;
  for (const uint32_t rank : {4u, 6u, 8u, 11u, 13u}) EXPECT_FALSE(ranks->Contains(rank)) << rank;
}

TEST(RankSet, WhatIsNoneIsRefused) {
  for (const char* text : {"", ",", "1,", "a", "3-1", "-1", "1-", "1-2-3", "99999999999", "1 2"})
    EXPECT_TRUE(absl::IsInvalidArgument(RankSet::Parse(text).status())) << text;
}

}  // namespace
}  // namespace eroica

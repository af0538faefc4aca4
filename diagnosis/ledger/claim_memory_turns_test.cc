// Ranks that are late in turn, without a recorded function that explains it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnosis/ledger/claim_memory.h"
#include "diagnosis/ledger/claim_memory_test_claims.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One stall a window, now of this rank and now of that one, each of them `share` of the time.
std::vector<Finding> AfterStallsOf(const std::vector<int32_t>& ranks, double share) {
  ClaimMemory memory;
  std::vector<Finding> ripe;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto window = static_cast<int64_t>(i) + 1;
    Finding claim = Claim(window, ranks[i], 1, "");
    claim.subkind = kTransient;
    claim.lost_gpu_seconds_per_hour = share * 3600 * kRanks;
    ripe = Ripen(memory, window, {claim});
  }
  return ripe;
}

TEST(ClaimMemoryTurns, StallsWithoutAFunctionAreNobodysWhereTheyCostMuch) {
  const std::vector<Finding> ripe = AfterStallsOf({5, 8, 9, 12}, 0.2);
  ASSERT_THAT(ripe, SizeIs(1));
  EXPECT_EQ(ripe[0].subkind, kRoaming);
  EXPECT_THAT(ripe[0].culprits, IsEmpty());
  EXPECT_THAT(ripe[0].title, HasSubstr("rotates among 4 ranks"));
}

TEST(ClaimMemoryTurns, SlowStepsOfHealthyRanksHaveHeavyTails) {
  EXPECT_THAT(AfterStallsOf({5, 8, 9, 12}, 0.03), IsEmpty());
}

TEST(ClaimMemoryTurns, StallsOfOneRankThatCostMuchAreItsOwnFromTheSecondOn) {
  const std::vector<Finding> ripe = AfterStallsOf({5, 5}, 0.3);
  ASSERT_THAT(ripe, SizeIs(1));
  ASSERT_THAT(ripe[0].culprits, SizeIs(1));
  EXPECT_EQ(ripe[0].culprits[0].rank, 5);
  EXPECT_THAT(AfterStallsOf({5}, 0.3), IsEmpty()) << "an accident";
  EXPECT_THAT(AfterStallsOf({5, 5}, 0.1), IsEmpty()) << "little";
  EXPECT_THAT(AfterStallsOf({8, 5, 5}, 0.3), IsEmpty()) << "another one has them, too";
}

TEST(ClaimMemoryTurns, WhoHasHalfOfTheStallsIsNotOneOfMany) {
  for (const Finding& finding : AfterStallsOf({5, 5, 9, 5}, 0.2))
    EXPECT_NE(finding.subkind, kRoaming);
}

// On a host that is short of processors all ranks are late in turn: none is later than the others.
TEST(ClaimMemoryTurns, AllRanksOfAShortHostAreNotSlow) {
  for (const uint32_t ranks : {2u, 1u}) {
    ClaimMemory memory;
    std::vector<Finding> ripe;
    for (int64_t window = 1; window <= 12; ++window) {
      Finding claim = Claim(window, 0, 4, "(runnable, waiting for a processor)");
      claim.world_size = claim.ranks_seen = 2;
      if (ranks == 2) claim.culprits.push_back({.rank = 1});
      claim.evidence.push_back({.name = std::string(kSharedProcessors), .unit = "ns"});
      ripe = Ripen(memory, window, {claim});
    }
    EXPECT_THAT(ripe, SizeIs(ranks == 2 ? 0 : 1)) << "one that is it again and again is";
  }
}

}  // namespace
}  // namespace eroica

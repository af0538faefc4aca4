// Ranks that are late in turn, without a recorded function that explains it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/ledger/claim_memory.h"
#include "diagnosis/ledger/claim_memory_test_claims.h"
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

}  // namespace
}  // namespace eroica

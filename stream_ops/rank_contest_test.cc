#include "stream_ops/rank_contest.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

const RankClaimant kOnA{"a", 7};
const RankClaimant kOnB{"b", 7};
const RankClaimant kOnC{"c", 9};

// The n-th window of a process whose clock is ahead by so much: ten units each.
bool HearWindow(RankContest& contest, const RankClaimant& process, int64_t n, int64_t ahead = 0) {
  return contest.Accepts(process, ahead + 10 * n, ahead + 10 * (n + 1));
}

TEST(RankContest, ARankThatMovesToAnotherHostIsOneRank) {
  for (const int64_t ahead : {-1'000, 0, 1'000}) {  // of the new host's clock
    RankContest contest;
    for (int64_t n = 0; n < 5; ++n) EXPECT_TRUE(HearWindow(contest, kOnA, n));
    EXPECT_TRUE(HearWindow(contest, kOnB, 5, ahead));
    EXPECT_TRUE(HearWindow(contest, kOnA, 5)) << "it was on its way";
    for (int64_t n = 6; n < 9; ++n) EXPECT_TRUE(HearWindow(contest, kOnB, n, ahead));
    for (int64_t n = 9; n < 12; ++n) EXPECT_TRUE(HearWindow(contest, kOnC, n));
    EXPECT_FALSE(contest.Of(3));
  }
}

TEST(RankContest, ProcessesThatLiveSideBySideAreNotOneRank) {
  for (const int64_t ahead : {-1'000, 0, 1'000}) {
    RankContest contest;
    for (int64_t n = 0; n < 8; ++n) {
      EXPECT_TRUE(HearWindow(contest, kOnA, n));
      EXPECT_EQ(HearWindow(contest, kOnB, n, ahead), n < 2) << n;
    }
    EXPECT_EQ(contest.contestants(), (std::vector<RankClaimant>{kOnA, kOnB}));
    EXPECT_EQ(contest.Of(3), (ContestedRank{.rank = 3, .processes = 2, .hosts = {"a", "b"}}));
    EXPECT_TRUE(contest.IsRefused(kOnB));
    EXPECT_FALSE(contest.IsRefused(kOnA));
    EXPECT_FALSE(contest.IsRefused(kOnC));
  }
}

TEST(RankContest, WhoHasBeenTakenForTheRankStaysIt) {
  RankContest contest;
  for (int64_t n = 0; n < 4; ++n) {
    const bool accepted = contest.Accepts(kOnA, 10 * n, 10 * (n + 1), &kOnB);
    EXPECT_EQ(accepted, n < 2) << n;
    EXPECT_TRUE(contest.Accepts(kOnB, 10 * n, 10 * (n + 1), &kOnB));
  }
  EXPECT_EQ(contest.contestants(), (std::vector<RankClaimant>{kOnB, kOnA}));
}

TEST(RankContest, EachOfSeveralIsRefused) {
  RankContest contest;
  for (int64_t n = 0; n < 4; ++n) {
    for (const RankClaimant& process : {kOnA, kOnB, kOnC}) HearWindow(contest, process, n);
  }
  EXPECT_EQ(contest.contestants(), (std::vector<RankClaimant>{kOnA, kOnB, kOnC}));
  EXPECT_TRUE(HearWindow(contest, {"d", 1}, 4)) << "the job may have been started again";
  for (int64_t n = 4; n < 7; ++n) EXPECT_TRUE(HearWindow(contest, kOnA, n));
  EXPECT_TRUE(contest.IsRefused({"d", 1}));
}

// Records that are read again after a restart say nothing new.
TEST(RankContest, WindowsThatComeAgainShowNoLife) {
  RankContest contest;
  HearWindow(contest, kOnA, 0);
  HearWindow(contest, kOnA, 1);
  HearWindow(contest, kOnB, 0);
  for (int i = 0; i < 5; ++i) HearWindow(contest, kOnA, 1);
  EXPECT_TRUE(contest.contestants().empty());
}

TEST(RankContest, KeepsTheNewestProcesses) {
  RankContest contest;
  for (uint32_t pid = 0; pid < 3 * RankContest::kMostProcesses; ++pid)
    EXPECT_TRUE(contest.Accepts({"a", pid}, pid, pid + 1));
  EXPECT_TRUE(contest.contestants().empty());
}

}  // namespace
}  // namespace eroica

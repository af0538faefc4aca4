#include "diagnosis/hang/stalled_connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "diagnosis/hang/hang_operator.h"
#include "diagnosis/hang/standing_job.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kBusy = 1'000'000'000;

// Sixteen ranks on two hosts, all in one all-reduce.
StandingJob InOneAllReduce() {
  StandingJob job(16);
  std::vector<uint32_t> ranks(16);
  std::iota(ranks.begin(), ranks.end(), 0);
  job.Group("dp", ranks);
  for (const uint32_t rank : ranks) job.InFlight(0, CollectiveOperation::kAllReduce, 7, {rank});
  return job;
}

Finding OnlyStalled(const StandingJob& job) {
  const std::vector<Finding> findings = HangOperator().Evaluate(job.View());
  EXPECT_THAT(findings, SizeIs(1));
  return findings.empty() ? Finding{} : findings[0];
}

TEST(StalledConnections, TheRankAtWhichAllOfThemEnd) {
  const Finding finding =
      OnlyStalled(InOneAllReduce().Connection(4, 12, kBusy).Connection(12, 5, kBusy));
  EXPECT_EQ(finding.subkind, "communication");
  EXPECT_THAT(finding.culprits, ElementsAre(Culprit{.rank = 12, .host = "node-1", .device = 4}));
  EXPECT_THAT(finding.title, HasSubstr("nothing passes the NIC of rank 12"));
  EXPECT_THAT(finding.victims, SizeIs(15));
}

TEST(StalledConnections, OneConnectionHasTwoEnds) {
  const Finding finding = OnlyStalled(InOneAllReduce().Connection(12, 5, kBusy));
  EXPECT_THAT(finding.culprits,
              ElementsAre(Culprit{.rank = 12, .host = "node-1", .device = 4, .peer = 5}));
  EXPECT_THAT(finding.caveats, ElementsAre(HasSubstr("Undecided between the sending end")));
}

TEST(StalledConnections, SeveralRanksOfAHost) {
  StandingJob job = InOneAllReduce();
  for (const uint32_t rank : {8u, 11u})
    job.Connection(rank - 8, rank, kBusy).Connection(rank, rank - 7, kBusy);
  const Finding finding = OnlyStalled(job);
  EXPECT_THAT(finding.culprits, IsEmpty()) << "two hosts: either may be it";
}

TEST(StalledConnections, AHostAmongSeveral) {
  StandingJob job(24);
  std::vector<uint32_t> ranks(24);
  std::iota(ranks.begin(), ranks.end(), 0);
  job.Group("dp", ranks);
  for (const uint32_t rank : ranks) job.InFlight(0, CollectiveOperation::kAllReduce, 7, {rank});
  for (const uint32_t rank : {8u, 11u})
    job.Connection(rank - 8, rank, kBusy).Connection(rank, rank + 8, kBusy);
  const Finding finding = OnlyStalled(job);
  EXPECT_THAT(finding.culprits, ElementsAre(Culprit{.rank = -1, .host = "node-1"}));
  EXPECT_THAT(finding.title, HasSubstr("the network of host node-1"));
}

TEST(StalledConnections, NothingInCommonIsUndecided) {
  const Finding finding = OnlyStalled(
      InOneAllReduce().Connection(0, 8, kBusy).Connection(3, 4, kBusy).Connection(9, 10, kBusy));
  EXPECT_THAT(finding.culprits, IsEmpty());
  EXPECT_THAT(finding.caveats, ElementsAre(HasSubstr("undecided")));
}

TEST(StalledConnections, EverybodyStalledIsNobody) {
  StandingJob job = InOneAllReduce();
  for (uint32_t rank = 0; rank < 16; ++rank) job.Connection(rank, (rank + 1) % 16, kBusy);
  EXPECT_THAT(OnlyStalled(job).culprits, IsEmpty());
}

TEST(StalledConnections, WhatMovesOrRestsIsNotStalled) {
  EXPECT_THAT(
      OnlyStalled(InOneAllReduce().Connection(4, 12, kBusy, 4096).Connection(12, 5, 0)).culprits,
      IsEmpty());
  EXPECT_THAT(OnlyStalled(InOneAllReduce()).caveats,
              ElementsAre(HasSubstr("Which link is stalled is undecided")));
}

TEST(StalledConnections, OtherGroupsConnectionsDoNotCount) {
  StandingJob job(4);
  job.Group("dp0", {0, 1});
  job.Group("dp1", {2, 3});
  job.InFlight(0, CollectiveOperation::kAllReduce, 7, {0, 1});
  job.Connection(2, 3, kBusy);
  const std::vector<Finding> findings = HangOperator().Evaluate(job.View());
  ASSERT_THAT(findings, Not(IsEmpty()));
  for (const Finding& finding : findings) EXPECT_THAT(finding.culprits, IsEmpty());
}

TEST(StalledConnections, WhoIsMissingIsToBlameWhateverConnectionsSay) {
  StandingJob job(4);
  job.Group("dp", {0, 1, 2, 3});
  job.InFlight(0, CollectiveOperation::kAllReduce, 7, {0, 1, 3});
  job.Connection(0, 1, kBusy).Connection(3, 0, kBusy);
  const Finding finding = OnlyStalled(job);
  EXPECT_EQ(finding.subkind, "never_launched");
  EXPECT_EQ(finding.culprits.front().rank, 2);
}

TEST(StalledConnections, PermutingRanksPermutesTheCulprit) {
  for (uint32_t shift = 0; shift < 16; ++shift) {
    const auto at = [shift](uint32_t rank) { return (5 * rank + shift) % 16; };
    const Finding finding = OnlyStalled(
        InOneAllReduce().Connection(at(4), at(12), kBusy).Connection(at(12), at(5), kBusy));
    ASSERT_THAT(finding.culprits, SizeIs(1));
    EXPECT_EQ(finding.culprits[0].rank, static_cast<int32_t>(at(12)));
  }
}

}  // namespace
}  // namespace eroica

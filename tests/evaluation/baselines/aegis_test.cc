#include "tests/evaluation/baselines/aegis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/measurements/synthetic_job.h"
#include "tests/evaluation/baselines/baseline_test_views.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(AegisBaseline, WhoseCollectivesAreShortComputesSlowly) {
  TrainingView job(4);
  AddWaits(job, {{0, 20}, {1, 20}, {2, 0}, {3, 20}});
  const std::vector<Finding> findings = Ask<AegisBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(2));
  EXPECT_EQ(findings[0].kind, FindingKind::kSlowRank);
  EXPECT_EQ(findings[0].function, "");
  EXPECT_NEAR(findings[0].evidence[0].culprit, 5e6, 1);
  EXPECT_NEAR(findings[0].evidence[0].peers, 20e6, 1);
}

TEST(AegisBaseline, AFifthShorterIsNotShort) {
  TrainingView job(4);
  AddWaits(job, {{0, 1}, {1, 1}, {2, 0}, {3, 1}});
  EXPECT_THAT(Ask<AegisBaseline>(job.Finish()), IsEmpty());
}

TEST(AegisBaseline, OneClaimARankFromItsWorstCommunicator) {
  TrainingView job(4);
  AddWaits(job, {{0, 4}, {2, 0}}).communicator_description = "tensor";
  AddWaits(job, {{0, 20}, {1, 20}, {2, 0}, {3, 20}}).communicator_description = "data";
  const std::vector<Finding> findings = Ask<AegisBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].title, HasSubstr("data"));
}

TEST(AegisBaseline, WhoLaunchedLessHangs) {
  TrainingView job(4);
  CollectiveSummary& group = AddWaits(job, {{0, 1}, {1, 1}, {2, 1}, {3, 1}});
  group.incomplete = 1;
  for (const uint32_t rank : {0u, 1u, 3u}) group.members[rank].incomplete = 1;
  const std::vector<Finding> findings = Ask<AegisBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kHang);
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(2));
}

TEST(AegisBaseline, WhoReportsNothingLaunchedNothing) {
  TrainingView job(4);
  CollectiveSummary& group = AddWaits(job, {{0, 1}, {1, 1}, {2, 1}});
  group.incomplete = 1;
  group.missing = {RankId{3}};
  for (MemberSummary& member : group.members) member.incomplete = 1;
  const std::vector<Finding> findings = Ask<AegisBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(3));
}

// A pipeline of six ranks in two replicas; `hot` pairs take 9 ms a message, the others 3.
TrainingView Matrix(const std::vector<std::pair<uint32_t, uint32_t>>& hot) {
  TrainingView job(6);
  CollectiveSummary& summary = job.AddSummary();
  for (uint32_t source = 0; source < 6; ++source) {
    for (uint32_t destination = 0; destination < 6; ++destination) {
      if (source == destination) continue;
      const bool is_hot =
          std::find(hot.begin(), hot.end(), std::pair(source, destination)) != hot.end();
      AddPair(summary, source, destination, is_hot ? 9 : 3, is_hot ? 20 : 4);
    }
  }
  return job.Finish();
}

TEST(AegisBaseline, AHotCellIsALinkARowASenderAColumnAReceiver) {
  const std::vector<Finding> link = Ask<AegisBaseline>(Matrix({{1, 4}}));
  ASSERT_THAT(link, SizeIs(1));
  EXPECT_EQ(link[0].kind, FindingKind::kCommunication);
  EXPECT_EQ(link[0].subkind, "link");
  EXPECT_EQ(link[0].culprits[0].rank, 1);
  EXPECT_EQ(link[0].culprits[0].peer, 4);

  const std::vector<Finding> sender = Ask<AegisBaseline>(Matrix({{1, 4}, {1, 2}, {1, 0}}));
  ASSERT_THAT(sender, SizeIs(1));
  EXPECT_EQ(sender[0].subkind, "sender");
  EXPECT_THAT(CulpritRanks(sender[0]), ElementsAre(1));

  const std::vector<Finding> receiver = Ask<AegisBaseline>(Matrix({{1, 4}, {2, 4}, {0, 4}}));
  ASSERT_THAT(receiver, SizeIs(1));
  EXPECT_EQ(receiver[0].subkind, "receiver");
  EXPECT_THAT(CulpritRanks(receiver[0]), ElementsAre(4));

  const std::vector<Finding> network = Ask<AegisBaseline>(Matrix({{1, 4}, {2, 3}}));
  ASSERT_THAT(network, SizeIs(1));
  EXPECT_EQ(network[0].subkind, "network");
  EXPECT_THAT(network[0].culprits, IsEmpty());

  EXPECT_THAT(Ask<AegisBaseline>(Matrix({})), IsEmpty());
}

TEST(AegisBaseline, WhoSendsLittleInsideACollectiveHasASlowSide) {
  SyntheticJob job(8);
  for (uint32_t rank = 0; rank < 8; ++rank)
    job.Run(rank, FunctionClass::kCollective, "all_reduce", 0.2, rank == 6 ? 0.2 : 0.5).resource =
        Resource::kNic;
  const std::vector<Finding> findings = Ask<AegisBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kCommunication);
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(6));
}

// A ring of eight ranks in one communicator, whose connections carry 40 GB/s, and further ones.
TrainingView Connected(const std::vector<std::pair<uint32_t, uint32_t>>& slow,
                       const std::vector<std::pair<uint32_t, uint32_t>>& further = {}) {
  TrainingView job(8);
  AddWaits(job, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}});
  job.Finish();
  std::vector<std::pair<uint32_t, uint32_t>> pairs = further;
  for (uint32_t rank = 0; rank < 8; ++rank) pairs.emplace_back(rank, (rank + 1) % 8);
  for (const auto& [source, destination] : pairs) {
    const bool is_slow =
        std::find(slow.begin(), slow.end(), std::pair(source, destination)) != slow.end();
    job.batches()[source].connections.push_back(
        {.peer = destination, .bytes = 400'000'000, .busy_ns = is_slow ? 40'000'000 : 10'000'000});
  }
  return job;
}

TEST(AegisBaseline, ReadsTheMatrixOfConnections) {
  const std::vector<Finding> link = Ask<AegisBaseline>(Connected({{3, 4}}));
  ASSERT_THAT(link, SizeIs(1));
  EXPECT_EQ(link[0].subkind, "link");
  EXPECT_EQ(link[0].culprits[0].rank, 3);
  EXPECT_EQ(link[0].culprits[0].peer, 4);

  const std::vector<Finding> nic = Ask<AegisBaseline>(Connected({{3, 4}, {4, 5}}));
  ASSERT_THAT(nic, SizeIs(1));
  EXPECT_EQ(nic[0].subkind, "rank");
  EXPECT_THAT(CulpritRanks(nic[0]), ElementsAre(4));

  const std::vector<Finding> receiver = Ask<AegisBaseline>(Connected({{3, 4}, {6, 4}}, {{6, 4}}));
  ASSERT_THAT(receiver, SizeIs(1));
  EXPECT_EQ(receiver[0].subkind, "receiver");
  EXPECT_THAT(CulpritRanks(receiver[0]), ElementsAre(4));

  const std::vector<Finding> network = Ask<AegisBaseline>(Connected({{3, 4}, {6, 7}}));
  ASSERT_THAT(network, SizeIs(1));
  EXPECT_THAT(network[0].culprits, IsEmpty());

  EXPECT_THAT(Ask<AegisBaseline>(Connected({})), IsEmpty());
}

TEST(AegisBaseline, ConnectionsOfOtherCommunicatorsAreNoMeasure) {
  TrainingView job = Connected({});
  CollectiveSummary& tensor = AddWaits(job, {{0, 1}, {4, 1}});
  tensor.communicator_description = "tensor";
  for (const uint32_t rank : {0u, 4u}) {
    // 1 GB/s, both ways
    job.batches()[rank].connections.push_back(
        {.peer = 4 - rank, .bytes = 1'000'000, .busy_ns = 1'000'000});
  }
  EXPECT_THAT(Ask<AegisBaseline>(job), IsEmpty());
}

// Known traps.

TEST(AegisBaseline, ASlowSwitchIsTheNetworkAndNoPlace) {
  const std::vector<Finding> findings = Ask<AegisBaseline>(Connected({{1, 2}, {2, 3}, {3, 4}}));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].culprits, IsEmpty());
}

TEST(AegisBaseline, BlamesTheVictimThatIsLastAtACollectiveForAnEarlierWait) {
  // METHODS 9, pp4dp2_slow_mid_8r: rank 6 is slow, rank 7 waits for it in a receive and so comes
  // last at its all-reduce with rank 3.
  TrainingView job(8);
  AddPair(job.AddSummary(), 6, 7, 40);
  AddWaits(job, {{3, 30}, {7, 0}});
  const std::vector<Finding> findings = Ask<AegisBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(7));
}

TEST(AegisBaseline, TakesOrdinaryJitterInASmallJobForSlowComputing) {
  // METHODS 8, healthy_4r: 15, 14, 12 and 7 ms of waiting a step, nobody is slow.
  TrainingView job(4);
  AddWaits(job, {{0, 15}, {1, 14}, {2, 12}, {3, 7}}, 1);
  EXPECT_THAT(Ask<AegisBaseline>(job.Finish()), SizeIs(1));
}

TEST(AegisBaseline, LaterFaultsOfTheSameGroupAverageOut) {
  // Every rank is late in its turn: each waits the same in sum.
  TrainingView job(4);
  AddWaits(job, {{0, 15}, {1, 15}, {2, 15}, {3, 15}});
  EXPECT_THAT(Ask<AegisBaseline>(job.Finish()), IsEmpty());
}

TEST(AegisBaseline, ARankThatHangsDragsTheGroupsOfItsVictimsAlong) {
  // Rank 0 hangs; rank 1 waits for it and so never launches the all-reduce that rank 3 is in.
  TrainingView job(4);
  CollectiveSummary& first = AddWaits(job, {{0, 1}, {1, 1}});
  first.incomplete = 1;
  first.members[1].incomplete = 1;
  CollectiveSummary& second = AddWaits(job, {{1, 1}, {3, 1}});
  second.incomplete = 1;
  second.members[1].incomplete = 1;
  const std::vector<Finding> findings = Ask<AegisBaseline>(job.Finish());
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(0));
  EXPECT_THAT(CulpritRanks(findings[1]), ElementsAre(1));
}

}  // namespace
}  // namespace eroica

#include "diagnosis/link_matrix/hot_spots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "diagnosis/link_matrix/rail_job.h"
#include "diagnosis/report/finding_measures.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Culprit HostCulprit(const std::string& host) { return {.rank = -1, .host = host}; }

auto CulpritRank(int32_t rank) { return Field(&Culprit::rank, rank); }

TEST(HotSpots, ASwitchIsAllThatItsHostsExchange) {
  RailJob job(8, 4);
  job.Slow(13, [&](uint32_t source, uint32_t destination) {
    return job.HostOf(source) >= 4 || job.HostOf(destination) >= 4;
  });
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1))
      << "more than half of all cells are slow, and the faster group is the measure";
  EXPECT_EQ(findings[0].subkind, "host");
  EXPECT_THAT(findings[0].culprits, ElementsAre(HostCulprit("host4"), HostCulprit("host5"),
                                                HostCulprit("host6"), HostCulprit("host7")));
}

// Ranks that exchange data over sockets, each with the next two around; NICs lie between them where
// each has a host of its own.
RailJob SocketJob(uint32_t hosts, uint32_t ranks_per_host) {
  RailJob job(hosts, ranks_per_host);
  for (uint32_t rank = 0; rank < job.ranks(); ++rank) {
    for (const uint32_t distance : {1u, 2u}) job.Connect(rank, (rank + distance) % job.ranks(), 1);
  }
  return job;
}

TEST(HotSpots, RanksOfAJobOnOneHostShareNoNics) {
  RailJob job(4, 8);
  job.SlowNic(14, 0.4 * RailJob::kNic).SlowNic(15, 0.4 * RailJob::kNic);
  const auto shared = [&job] {
    const std::vector<Finding> findings = job.Evaluate();
    return std::ranges::count(findings, "shared_nic", &Finding::subkind);
  };
  EXPECT_EQ(shared(), 1);
  for (PatternBatch& batch : job.job().batches()) batch.host = "host";
  EXPECT_EQ(shared(), 0);
}

TEST(HotSpots, AConnectionWhoseEndIsNotLetRunSaysNothingOfItsPath) {
  const auto findings = [](uint32_t starved, double ms) {
    RailJob job = SocketJob(8, 1);
    job.Slow(0.05,
             [](uint32_t source, uint32_t destination) { return source == 3 && destination == 4; });
    job.job().Run(starved, "(runnable, waiting for a processor)", ms);
    return job.Evaluate();
  };
  // a step
  constexpr double kExcessMs = 1e3 * (RailJob::kBytes / 0.05e9 - RailJob::kBytes / 1e9) / 8;
  for (const uint32_t end : {3u, 4u}) {
    EXPECT_THAT(findings(end, 1.1 * kExcessMs), IsEmpty()) << end;
    EXPECT_THAT(findings(end, 0.9 * kExcessMs), SizeIs(1)) << end;
  }
  EXPECT_THAT(findings(6, 1.1 * kExcessMs), SizeIs(1)) << "no end of the slow connection";
}

TEST(HotSpots, TwoHostsThatAreSlowOnlyBetweenThemAreTheirPath) {
  RailJob job(8, 4);
  // two stages of a pipeline: more between the hosts of a stage than to the next one
  for (uint32_t rank = 0; rank < 4; ++rank) {
    for (uint32_t host = 0; host < 8; host += 2) {
      const uint32_t one = host * 4 + rank;
      job.Connect(one, one + 4, RailJob::kNic, Resource::kNic, 8 * RailJob::kBytes);
      job.Connect(one + 4, one, RailJob::kNic, Resource::kNic, 8 * RailJob::kBytes);
    }
  }
  job.Slow(20, [&](uint32_t source, uint32_t destination) {
    return job.HostOf(source) < 2 && job.HostOf(destination) < 2;
  });
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "link");
}

TEST(HotSpots, MoreThanHalfOfTheHostsAreNoException) {
  RailJob job(8, 4);
  job.Slow(13, [&](uint32_t source, uint32_t destination) {
    return job.HostOf(source) >= 3 || job.HostOf(destination) >= 3;
  });
  EXPECT_THAT(job.Evaluate(), IsEmpty());
}

TEST(HotSpots, APathIsWhatTwoGroupsOfHostsExchange) {
  RailJob job(8, 4);
  job.Slow(20, [&](uint32_t source, uint32_t destination) {
    return (job.HostOf(source) < 4) != (job.HostOf(destination) < 4);
  });
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "path");
  EXPECT_THAT(findings[0].culprits, ElementsAre(HostCulprit("host0"), HostCulprit("host1"),
                                                HostCulprit("host2"), HostCulprit("host3")));
  EXPECT_THAT(findings[0].title, HasSubstr("with the other 4 hosts"));
}

TEST(HotSpots, RacksThatAreAllApartAreHowTheNetworkIsBuilt) {
  RailJob job(9, 4);
  job.Slow(20, [&](uint32_t source, uint32_t destination) {
    return job.HostOf(source) / 3 != job.HostOf(destination) / 3;
  });
  EXPECT_THAT(job.Evaluate(), SizeIs(1));
  EXPECT_EQ(job.Evaluate().front().subkind, "scattered");
  EXPECT_THAT(job.Evaluate().front().culprits, IsEmpty());
}

TEST(HotSpots, ARankWhoseNicIsDownBorrowsItsNeighbors) {
  const std::vector<Finding> findings =
      RailJob(4, 8).SlowNic(14, 0.5 * RailJob::kNic).SlowNic(15, 0.4 * RailJob::kNic).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "shared_nic");
  EXPECT_THAT(findings[0].culprits, ElementsAre(CulpritRank(15)));
}

// The data of half of the steps takes 2.5 times as long and twice as long: over the whole window
// 1.75 and 1.5 times.
TEST(HotSpots, ANicThatGoesDownWithinTheWindowIsKnown) {
  const std::vector<Finding> findings =
      RailJob(4, 8).SlowNic(14, RailJob::kNic / 1.5).SlowNic(15, RailJob::kNic / 1.75).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].culprits, ElementsAre(CulpritRank(15)));
}

TEST(HotSpots, RanksOfABrokenBondAreNamedTogether) {
  const std::vector<Finding> findings =
      RailJob(4, 8).SlowNic(14, 0.5 * RailJob::kNic).SlowNic(15, 0.5 * RailJob::kNic).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].culprits, ElementsAre(CulpritRank(14), CulpritRank(15)));
}

TEST(HotSpots, TwoNicsThatHaveNothingInCommonAreTwoFaults) {
  EXPECT_THAT(
      RailJob(4, 8).SlowNic(14, 0.35 * RailJob::kNic).SlowNic(15, 0.25 * RailJob::kNic).Evaluate(),
      SizeIs(2))
      << "together much slower than one NIC";
}

TEST(HotSpots, ALostNicIsItsOwnRanksHoweverTwoShareTheOther) {
  for (const auto& [lost, neighbor] :
       {std::pair(0.3, 0.7), {0.2, 0.7}, {0.25, 0.5}, {0.45, 0.75}, {0.4, 0.5}}) {
    const std::vector<Finding> findings = RailJob(4, 8)
                                              .SlowNic(14, neighbor * RailJob::kNic)
                                              .SlowNic(15, lost * RailJob::kNic)
                                              .Evaluate();
    ASSERT_THAT(findings, SizeIs(1)) << lost;
    EXPECT_THAT(findings[0].culprits, ElementsAre(CulpritRank(15))) << lost;
  }
}

TEST(HotSpots, APortThatTwoRingsShareIsNotSlow) {
  RailJob job(4, 4);
  job.Disconnect(9, 13, Resource::kNic)
      .Connect(9, 12, RailJob::kNic / 2)
      .Connect(8, 12, RailJob::kNic / 2);
  EXPECT_THAT(job.Evaluate(), IsEmpty())
      << "the last host has fewer ranks, say: what was to enter by 13 enters by 12";
}

// Two rings over most ports, and four into the only one that the job has on its last host.
RailJob FourRingsIntoOnePort(double port_speed) {
  RailJob job(8, 4);
  for (uint32_t source = 0; source < 32; ++source) {
    const uint32_t next = (source + 4) % 32;
    job.Disconnect(source, next, Resource::kNic);
    if (source < 24) {
      job.Connect(source, next, RailJob::kNic / 2).Connect(source, next ^ 1, RailJob::kNic / 2);
    } else if (source < 28) {
      job.Connect(source, 28, port_speed / 4);
    }
  }
  return job;
}

TEST(HotSpots, APortThatFourRingsShareIsNotSlowWhereMostAreSharedByTwo) {
  EXPECT_THAT(FourRingsIntoOnePort(RailJob::kNic).Evaluate(), IsEmpty());
}

TEST(HotSpots, APortThatFourRingsShareIsNamedWhereTogetherTheyAreSlow) {
  const std::vector<Finding> findings = FourRingsIntoOnePort(RailJob::kNic / 2).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].culprits, ElementsAre(CulpritRank(28)));
}

// Three stages on a host each, in a row: only the one in the middle has two neighbors.
TEST(HotSpots, NeighborsOfAStageTakeTurns) {
  RailJob job(3, 4);
  for (uint32_t source = 0; source < 12; ++source) {
    job.Disconnect(source, (source + 4) % 12, Resource::kNic);
    if (source >= 4) job.Connect(source, source - 4, RailJob::kNic);
    if (source < 8) job.Connect(source, source + 4, RailJob::kNic);
  }
  job.SlowNic(5, RailJob::kNic / 2);  // both together as fast as one
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "nic");
  EXPECT_THAT(findings[0].culprits, ElementsAre(CulpritRank(5)));
}

TEST(HotSpots, APortThatIsSlowAndHasNoMoreToMoveIsNamed) {
  RailJob job(4, 4);
  job.SlowNic(12, RailJob::kNic / 2);
  EXPECT_THAT(job.Evaluate(), SizeIs(1));
}

TEST(HotSpots, WhatOneHostSendsAnotherIsTheirPathAndNoDozenOfNics) {
  RailJob job(4, 4);
  for (uint32_t host = 0; host < 4; host += 2) {  // experts over two hosts each: all to all
    for (uint32_t a = 4 * host; a < 4 * host + 4; ++a) {
      for (uint32_t b = 4 * host + 4; b < 4 * host + 8; ++b)
        job.Connect(a, b, RailJob::kNic).Connect(b, a, RailJob::kNic);
    }
  }
  job.Slow(15, [&](uint32_t source, uint32_t destination) {
    return job.HostOf(source) == 0 && job.HostOf(destination) == 1;
  });
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "link");
  EXPECT_EQ(FindMeasure(findings[0], kSlowPairs)->culprit, 16);
}

TEST(HotSpots, StagesOnHostsOfTheirOwnAreComparedWithEachOther) {
  RailJob job(8, 4);
  for (uint32_t rank = 0; rank < job.ranks(); ++rank)
    job.job().Role(rank, "stage " + std::to_string(rank / 8));
  job.Slow(13, [&](uint32_t source, uint32_t destination) {
    return job.HostOf(source) >= 6 && job.HostOf(destination) >= 6;
  });
  EXPECT_THAT(job.Evaluate(), SizeIs(1));
}

TEST(HotSpots, OtherTrafficTellsTheReceiver) {
  RailJob job(4, 4);
  // activations: too little to hold the steps up by themselves
  constexpr uint64_t kFew = RailJob::kBytes / 8;
  for (uint32_t rank = 0; rank < 8; ++rank)
    job.Connect(rank, rank + 8, RailJob::kNic, Resource::kNic, kFew)
        .Connect(rank + 8, rank, RailJob::kNic, Resource::kNic, kFew);
  job.Slow(20, [](uint32_t, uint32_t destination) { return destination == 9; });
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "receiver");
  EXPECT_THAT(findings[0].culprits, ElementsAre(CulpritRank(9)));
}

TEST(HotSpots, OneSlowCellOfARailHasTwoEnds) {
  const std::vector<Finding> findings =
      RailJob(4, 4)
          .Slow(15, [](uint32_t, uint32_t destination) { return destination == 9; })
          .Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "link");
  EXPECT_THAT(findings[0].culprits, ElementsAre(AllOf(CulpritRank(5), Field(&Culprit::peer, 9))));
  EXPECT_THAT(
      findings[0].caveats,
      ElementsAre(HasSubstr(
          "Undecided: the sending side of rank 5, the path or the receiving side of rank 9")));
}

TEST(HotSpots, AnEndThatSendsToOthersAtFullSpeedIsCleared) {
  RailJob job(4, 4);
  job.Connect(5, 13, RailJob::kNic).Slow(15, [](uint32_t source, uint32_t destination) {
    return source == 5 && destination == 9;
  });
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].caveats,
              ElementsAre(HasSubstr("Undecided: the path or the receiving side of rank 9")));
}

TEST(HotSpots, TwoHostsThatOnlyExchangeWithEachOtherAreALink) {
  RailJob job(2, 8);
  job.Slow(15, [](uint32_t source, uint32_t destination) {
    return source % 8 == 3 && destination % 8 == 3;
  });
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1)) << "both ways, and no other traffic tells which end";
  EXPECT_EQ(findings[0].subkind, "link");
  EXPECT_EQ(FindMeasure(findings[0], kSlowPairs), nullptr) << "one pair";
}

TEST(HotSpots, ManyLinksWithNothingInCommonNameNobody) {
  RailJob job(16, 4);
  job.Slow(20, [&](uint32_t source, uint32_t) {
    return source == 1 || source == 14 || source == 27 || source == 40;
  });
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "scattered");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
}

TEST(HotSpots, FourRanksOfWhichOneIsSlow) {
  RailJob job(4, 1);
  job.Slow(11,
           [](uint32_t source, uint32_t destination) { return source == 2 || destination == 2; });
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, SizeIs(1)) << "half of all cells";
  EXPECT_THAT(findings[0].culprits, ElementsAre(CulpritRank(2)));
}

TEST(HotSpots, FourConnectionsDifferAtRandom) {
  RailJob job(4, 1);
  for (uint32_t rank = 0; rank < 4; ++rank)
    job.Connect(rank, (rank + 1) % 4, rank < 2 ? 32 + rank : 44 + rank);
  EXPECT_THAT(job.Evaluate(), IsEmpty());
}

TEST(HotSpots, WhatTwoRanksExchangeInAnotherGroupIsNoMeasure) {
  RailJob job(8, 1);
  TrainingView& view = job.job();
  // of the first and the last stage, over rings that share the port
  CollectiveSummary& embedding = view.AddSummary();
  embedding.members = {{.rank = RankId{0}}, {.rank = RankId{5}}};
  for (const uint32_t rank : {0u, 5u})
    view.batches()[rank].communicators = {embedding.communicator};
  job.Connect(0, 5, 6).Connect(5, 0, 6);
  EXPECT_THAT(job.Evaluate(), IsEmpty());
}

TEST(HotSpots, WhatCarriesNextToNothingIsLatency) {
  RailJob job(16, 1);
  for (uint32_t rank = 0; rank < 16; ++rank)
    job.Connect((rank + 1) % 16, rank, rank == 5 ? 0.00001 : 0.0001, Resource::kNic, 27'000);
  EXPECT_THAT(job.Evaluate(), IsEmpty());
}

// Rank 5 has lost its NVLink: what it exchanges with its neighbors takes PCIe.
RailJob WithoutNvlink(RailJob job, std::initializer_list<uint32_t> lost, double pcie = 12) {
  for (const uint32_t rank : lost) {
    for (uint32_t other = 0; other < job.ranks(); ++other) {
      if (job.Neighbor(other) != rank && other != rank) continue;
      job.Disconnect(other, job.Neighbor(other), Resource::kNvlink)
          .Connect(other, job.Neighbor(other), pcie, Resource::kPcieTx);
    }
  }
  return job;
}

TEST(HotSpots, NvlinkThatIsDownShowsAsTrafficOverPcie) {
  const std::vector<Finding> findings = WithoutNvlink(RailJob(2, 8), {5}).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "nvlink_down");
  EXPECT_THAT(findings[0].culprits, ElementsAre(CulpritRank(5)));
  EXPECT_THAT(findings[0].title, HasSubstr("NVLink of rank 5 on host0 is down"));
}

TEST(HotSpots, MachinesWithNvlinkInPairsAreBuiltSo) {
  RailJob job(4, 4);  // 0 - 1 and 2 - 3 of each host are bridged
  for (uint32_t rank = 1; rank < job.ranks(); rank += 2) {
    job.Disconnect(rank, job.Neighbor(rank), Resource::kNvlink)
        .Connect(rank, job.Neighbor(rank), 12, Resource::kPcieTx);
  }
  EXPECT_THAT(job.Evaluate(), IsEmpty());
}

TEST(HotSpots, ADeviceThatNoHostBridgesIsBuiltSo) {
  EXPECT_THAT(WithoutNvlink(RailJob(4, 3), {2, 5, 8, 11}).Evaluate(), IsEmpty());
}

TEST(HotSpots, PcieThatIsAsFastAsItsPeersIsNoFault) {
  EXPECT_THAT(WithoutNvlink(RailJob(2, 8), {5}, 0.9 * RailJob::kNvlink).Evaluate(), IsEmpty());
}

// A job with a slow NIC, one with a slow path and one with a slow host: whichever numbers the ranks
// bear, the same ones are named.
TEST(HotSpots, PermutingRanksPermutesTheFinding) {
  std::vector<RailJob> jobs;
  jobs.push_back(RailJob(4, 8).SlowNic(14, 20));
  jobs.emplace_back(6, 4);
  jobs.back().Slow(
      20, [](uint32_t source, uint32_t destination) { return (source < 8) != (destination < 8); });
  jobs.emplace_back(6, 4);
  jobs.back().Slow(20, [](uint32_t source, uint32_t destination) {
    return source / 4 == 2 || destination / 4 == 2;
  });
  for (const RailJob& job : jobs) {
    std::vector<uint32_t> numbers(job.ranks());
    std::iota(numbers.begin(), numbers.end(), 0);
    for (uint32_t& number : numbers) number = (7 * number + 3) % job.ranks();
    if (job.ranks() % 7 == 0) continue;
    const std::vector<Finding> plain = job.Evaluate();
    const std::vector<Finding> permuted = job.Evaluate(numbers);
    ASSERT_THAT(plain, SizeIs(1));
    ASSERT_THAT(permuted, SizeIs(1));
    EXPECT_EQ(plain[0].subkind, permuted[0].subkind);
    std::set<std::pair<int32_t, std::string>> expected;
    std::set<std::pair<int32_t, std::string>> named;
    for (const Culprit& culprit : plain[0].culprits) {
      expected.emplace(culprit.rank < 0
                           ? -1
                           : static_cast<int32_t>(numbers[static_cast<uint32_t>(culprit.rank)]),
                       culprit.host);
    }
    for (const Culprit& culprit : permuted[0].culprits) named.emplace(culprit.rank, culprit.host);
    EXPECT_EQ(named, expected);
  }
}

TEST(HotSpots, RemovingAVictimChangesNoCulprit) {
  for (const uint32_t victim : {0u, 7u, 22u, 31u}) {
    RailJob job = RailJob(4, 8).SlowNic(14, 20);
    for (uint32_t other = 0; other < job.ranks(); ++other) {
      for (const Resource resource : {Resource::kNic, Resource::kNvlink})
        job.Disconnect(victim, other, resource).Disconnect(other, victim, resource);
    }
    const std::vector<Finding> findings = job.Evaluate();
    ASSERT_THAT(findings, SizeIs(1)) << victim;
    // of a ring that lost the culprit's neighbor one slow cell is left
    const int32_t named = findings[0].culprits.front().rank;
    EXPECT_EQ(named, victim == 22 ? 6 : 14) << victim;
  }
}

}  // namespace
}  // namespace eroica

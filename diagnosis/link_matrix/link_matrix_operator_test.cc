#include "diagnosis/link_matrix/link_matrix_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kHealthy = 40;  // GB/s

// Ranks in one ring, eight a host, a hundred megabytes a step; speed of each rank's connection to
// the next in GB/s.
class Ring {
 public:
  explicit Ring(uint32_t ranks) : job_(ranks) {
    job_.RunOnAll("gemm", 50, "", FunctionClass::kGpuCompute);
    for (uint32_t rank = 0; rank < ranks; ++rank) Connect(rank, (rank + 1) % ranks, kHealthy);
    job_.Finish();
  }
  Ring& Connect(uint32_t source, uint32_t destination, double speed,
                Resource resource = Resource::kNic, double share_of_bytes = 1) {
    auto& connections = job_.batches()[source].connections;
    std::erase_if(connections, [&](const ConnectionPattern& c) {
      return c.peer == destination && c.resource == resource;
    });
    const double bytes = 800e6 * share_of_bytes;  // of eight steps
    connections.push_back({.peer = destination,
                           .resource = resource,
                           .bytes = static_cast<uint64_t>(bytes),
                           .busy_ns = static_cast<int64_t>(bytes / speed)});
    return *this;
  }
  Ring& WithoutStepsOf(uint32_t rank) {
    job_.batches()[rank].steps.clear();
    return *this;
  }
  std::vector<Finding> Evaluate() { return ClaimsOf<LinkMatrixOperator>(job_); }

 private:
  TrainingView job_;
};

TEST(LinkMatrixOperator, ASlowNicShowsInWhatItSendsAndReceives) {
  const std::vector<Finding> findings = Ring(16).Connect(4, 5, 12).Connect(3, 4, 12).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kCommunication);
  EXPECT_EQ(findings[0].subkind, "nic");
  EXPECT_THAT(findings[0].culprits, ElementsAre(Culprit{.rank = 4, .host = "host0"}));
  EXPECT_THAT(findings[0].title, HasSubstr("12 GB/s"));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 100e6 / 12 - 100e6 / 40, 1e4);
}

TEST(LinkMatrixOperator, ConnectionsThatAgreeAreEnoughInOneWindow) {
  const auto agree = [](const Finding& finding) {
    const Measure* signs = FindMeasure(finding, kSignsThatAgree);
    return signs != nullptr && signs->culprit >= signs->threshold;
  };
  EXPECT_TRUE(agree(Ring(16).Connect(4, 5, 12).Connect(3, 4, 12).Evaluate().front()));
  EXPECT_FALSE(agree(Ring(16).Connect(4, 5, 12).Evaluate().front()))
      << "one may have been busy for a while";
}

TEST(LinkMatrixOperator, TwoPortsOfOneHostWaitForTheNextWindow) {
  const std::vector<Finding> findings =
      Ring(24).Connect(1, 2, 12).Connect(2, 3, 12).Connect(4, 5, 10).Connect(5, 6, 10).Evaluate();
  ASSERT_THAT(findings, SizeIs(2));
  for (const Finding& finding : findings) {
    const Measure* seen = FindMeasure(finding, kSeenInWindows);
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->threshold, 2);
  }
  const std::vector<Finding> of_two_hosts = Ring(24)
                                                .Connect(1, 2, 12)
                                                .Connect(2, 3, 12)
                                                .Connect(12, 13, 10)
                                                .Connect(13, 14, 10)
                                                .Evaluate();
  ASSERT_FALSE(of_two_hosts.empty());
  for (const Finding& finding : of_two_hosts)
    EXPECT_EQ(FindMeasure(finding, kSeenInWindows), nullptr) << "of two hosts";
}

TEST(LinkMatrixOperator, ALittleSlowAsksForMoreWindows) {
  const auto asks = [](const Finding& finding) {
    return std::ranges::any_of(finding.evidence, [](const Measure& measure) {
      return measure.name == kSeenInWindows && measure.threshold >= 3;
    });
  };
  const std::vector<Finding> faint = Ring(16).Connect(4, 5, 33).Connect(3, 4, 33).Evaluate();
  ASSERT_THAT(faint, SizeIs(1));
  EXPECT_THAT(faint[0].culprits, ElementsAre(Culprit{.rank = 4, .host = "host0"}));
  EXPECT_TRUE(asks(faint[0]));
  EXPECT_FALSE(asks(Ring(16).Connect(4, 5, 12).Connect(3, 4, 12).Evaluate().front()));
  EXPECT_THAT(Ring(16).Connect(4, 5, 38).Connect(3, 4, 38).Evaluate(), IsEmpty())
      << "healthy connections differ by as much";
}

// A quarter of the speed, of what is hardly sent: it costs little, and is as slow as any.
TEST(LinkMatrixOperator, WhatIsSlowAndCostsLittleAsksForTwoWindows) {
  const auto windows = [](double speed, double share_of_bytes) {
    Ring ring(16);
    for (uint32_t rank = 0; rank < 16; ++rank)
      ring.Connect(rank, (rank + 1) % 16, kHealthy, Resource::kNic, share_of_bytes);
    const std::vector<Finding> findings = ring.Connect(4, 5, speed, Resource::kNic, share_of_bytes)
                                              .Connect(3, 4, speed, Resource::kNic, share_of_bytes)
                                              .Evaluate();
    const Measure* seen = findings.size() == 1 ? FindMeasure(findings[0], kSeenInWindows) : nullptr;
    return seen != nullptr ? seen->threshold : 0;
  };
  EXPECT_EQ(windows(10, 1), 0);
  EXPECT_EQ(windows(10, 0.1), 2);
  EXPECT_EQ(windows(33, 1), 3);
}

// Healthy connections differ for good, but each by itself: that so many of one path are a little
// slow is no coincidence.
TEST(LinkMatrixOperator, ALittleSlowInManyConnectionsAsksForTwoWindows) {
  Ring ring(32);
  for (uint32_t rank = 0; rank < 32; ++rank) {
    for (const uint32_t hosts : {1u, 2u, 3u})
      ring.Connect(rank, (rank + 8 * hosts) % 32, rank < 8 && hosts == 1 ? 33 : kHealthy);
  }
  const std::vector<Finding> findings = ring.Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "link");
  const Measure* seen = FindMeasure(findings[0], kSeenInWindows);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->threshold, 2);
}

TEST(LinkMatrixOperator, WhatIsALittleSlowBesideASlowLinkIsNoFaultOfItsOwn) {
  EXPECT_THAT(Ring(24).Connect(4, 5, 12).Connect(3, 4, 12).Connect(15, 16, 33).Evaluate(),
              SizeIs(1));
}

TEST(LinkMatrixOperator, ALoneSlowCellIsAPathWithTwoEnds) {
  const std::vector<Finding> findings = Ring(16).Connect(7, 8, 10).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "link");
  EXPECT_THAT(findings[0].culprits, ElementsAre(Culprit{.rank = 7, .host = "host0", .peer = 8}));
  EXPECT_THAT(findings[0].caveats, ElementsAre(HasSubstr("cannot be distinguished")));
}

TEST(LinkMatrixOperator, ARowIsASender) {
  const std::vector<Finding> findings = Ring(16)
                                            .Connect(7, 8, 10)
                                            .Connect(7, 11, 10)
                                            .Connect(9, 11, kHealthy)
                                            .Connect(6, 8, kHealthy)
                                            .Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "sender");
  EXPECT_EQ(findings[0].culprits[0].rank, 7);
}

TEST(LinkMatrixOperator, AColumnIsAReceiver) {
  const std::vector<Finding> findings = Ring(16).Connect(7, 8, 10).Connect(3, 8, 10).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "receiver");
  EXPECT_EQ(findings[0].culprits[0].rank, 8);
}

TEST(LinkMatrixOperator, ManyRanksOfAHostAreTheHost) {
  Ring ring(32);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    for (const uint32_t host : {0u, 1u, 2u, 3u}) {
      const uint32_t next = (host + 1) % 4;
      ring.Connect(8 * host + rank, 8 * next + rank, host == 2 || next == 2 ? 15 : kHealthy);
    }
  }
  ring.Connect(15, 16, 15).Connect(23, 24, 15);
  const std::vector<Finding> findings = ring.Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "host");
  EXPECT_THAT(findings[0].culprits, ElementsAre(Culprit{.rank = -1, .host = "host2"}));
}

// 18 ranks on hosts of eight, eight and two: four channels enter the last one over a single port.
TEST(LinkMatrixOperator, ThePortOfASmallHostCarriesMore) {
  const auto at_last_host = [](uint32_t ranks) {
    Ring ring(ranks);
    for (const uint32_t source : {3u, 9u, 15u}) ring.Connect(source, 16, 10);
    ring.WithoutStepsOf(16);  // its marks were lost
    return ring.Connect(17, ranks == 18 ? 0 : 18, ranks == 18 ? 10 : kHealthy).Evaluate();
  };
  EXPECT_THAT(at_last_host(18), IsEmpty());
  EXPECT_THAT(at_last_host(22), SizeIs(1));
}

TEST(LinkMatrixOperator, IsSilentWhereAllAreEquallyFast) {
  EXPECT_THAT(Ring(16).Evaluate(), IsEmpty());
  Ring slow(16);
  for (uint32_t rank = 0; rank < 16; ++rank) slow.Connect(rank, (rank + 1) % 16, 5);
  EXPECT_THAT(slow.Evaluate(), IsEmpty()) << "slow everywhere has no hot cell";
}

TEST(LinkMatrixOperator, IsSilentJustAboveTheThreshold) {
  EXPECT_THAT(Ring(16).Connect(4, 5, 0.85 * kHealthy).Connect(3, 4, 0.85 * kHealthy).Evaluate(),
              IsEmpty());
}

TEST(LinkMatrixOperator, IsSilentWhereSpeedsSpread) {
  Ring ring(16);
  for (uint32_t rank = 0; rank < 16; ++rank) ring.Connect(rank, (rank + 1) % 16, 25 + 2.0 * rank);
  EXPECT_THAT(ring.Evaluate(), IsEmpty());
}

TEST(LinkMatrixOperator, OtherResourcesAreNoPeers) {
  Ring ring(16);
  for (uint32_t rank = 0; rank < 16; rank += 2)
    ring.Connect(rank, rank + 1, 200, Resource::kNvlink);
  EXPECT_THAT(ring.Evaluate(), IsEmpty());
}

}  // namespace
}  // namespace eroica

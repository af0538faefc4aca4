#include "diagnosis/link_matrix/link_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/link_matrix/rail_job.h"
#include "diagnosis/report/finding_measures.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Two hosts, so that each port has one peer only; between ranks 2 and 10 data moves slowly.
RailJob SlowBetween2And10() {
  RailJob job(2, 8);
  return job.Slow(10, [](uint32_t source, uint32_t destination) {
    return std::min(source, destination) == 2 && std::max(source, destination) == 10;
  });
}

// Milliseconds a step, of each rank, with `times` as many on one.
RailJob& Copy(RailJob& job, double ms, uint32_t rank, double times) {
  for (PatternBatch& batch : job.job().batches()) {
    const double own =
        batch.rank.value == rank ? times * ms : ms * (1 + 0.01 * (batch.rank.value % 3));
    batch.folded_critical_ns[static_cast<size_t>(FunctionClass::kMemoryOp)] =
        static_cast<int64_t>(own * 8 * kNsPerMs);
  }
  return job;
}

void ExpectLink(const std::vector<Finding>& findings) {
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "link");
}

TEST(LinkEnds, CopiesThatPassTheSameSlotSayWhichEndItIs) {
  RailJob job = SlowBetween2And10();
  const std::vector<Finding> findings = Copy(job, 0.5, 10, 6).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "pcie");
  EXPECT_EQ(findings[0].culprits[0].rank, 10);
  EXPECT_LT(findings[0].culprits[0].peer, 0);
  EXPECT_THAT(findings[0].explanation,
              HasSubstr("Copies between host and device take 5.9 times as long"));
  EXPECT_NE(FindMeasure(findings[0], "copies_to_likes"), nullptr);
}

TEST(LinkEnds, WithoutThemALinkHasTwo) { ExpectLink(SlowBetween2And10().Evaluate()); }

TEST(LinkEnds, ALittleMoreToCopyDecidesNothing) {
  RailJob job = SlowBetween2And10();
  ExpectLink(Copy(job, 0.5, 10, 1.3).Evaluate());
}

TEST(LinkEnds, ACopyElsewhereDecidesNothing) {
  RailJob job = SlowBetween2And10();
  ExpectLink(Copy(job, 0.5, 5, 6).Evaluate());
}

TEST(LinkEnds, BothEndsAreNoneOfThem) {
  RailJob job = SlowBetween2And10();
  Copy(job, 0.5, 10, 6);
  job.job().batches()[2].folded_critical_ns = job.job().batches()[10].folded_critical_ns;
  ExpectLink(job.Evaluate());
}

TEST(LinkEnds, SlowCopiesAloneAreNoLink) {
  RailJob job(2, 8);
  EXPECT_THAT(Copy(job, 0.5, 10, 6).Evaluate(), SizeIs(0));
}

TEST(LinkEnds, ARankWhoseNvlinkIsSlowTooIsTheEnd) {
  RailJob job = SlowBetween2And10();
  job.Connect(9, 10, 0.5 * RailJob::kNvlink, Resource::kNvlink)
      .Connect(10, 11, 0.5 * RailJob::kNvlink, Resource::kNvlink);
  const std::vector<Finding> findings = job.Evaluate();
  ASSERT_THAT(findings, Not(SizeIs(0)));
  for (const Finding& finding : findings) EXPECT_EQ(finding.culprits[0].rank, 10) << finding.title;
}

// A pipeline within a host, where the last stage, 3, receives slowly from 2; what it exchanges with
// the first one nobody else does.
HotSpot DecideOnLastStage(double with_first) {
  TrainingView job(4);
  job.RunOnAll("gemm", 10, "", FunctionClass::kGpuCompute).Finish();
  const CrossRankView view(job.batches(), job.summaries());
  const auto cell = [](RankIndex source, RankIndex destination, double speed, double peers_speed) {
    return LinkCell{.source = source,
                    .destination = destination,
                    .resource = Resource::kNvlink,
                    .channels = 1,
                    .bytes = 1'000'000,
                    .busy_ns = static_cast<int64_t>(1'000'000 / speed),
                    .peers_speed = peers_speed,
                    .peers = peers_speed > 0 ? 4u : 0u};
  };
  const std::vector<LinkCell> cells = {cell(0, 1, 1, 1), cell(1, 0, 1, 1), cell(1, 2, 1, 1),
                                       cell(2, 3, 0.4, 1), cell(3, 0, with_first, 0)};
  HotSpot spot{.kind = HotSpotKind::kLink,
               .resource = Resource::kNvlink,
               .ranks = {2},
               .destination = 3,
               .cells = {&cells[3]}};
  LinkEnds(view, cells, {}).Decide(spot);
  return spot;
}

TEST(LinkEnds, WhatARankExchangesWithAThirdTellsWhichEndItIs) {
  const HotSpot spot = DecideOnLastStage(0.4);
  EXPECT_EQ(spot.kind, HotSpotKind::kRank);
  EXPECT_EQ(spot.ranks, std::vector<RankIndex>{3});
  EXPECT_EQ(DecideOnLastStage(1).kind, HotSpotKind::kLink);
  EXPECT_EQ(DecideOnLastStage(0.1).kind,
            HotSpotKind::kLink);  // slower than what either of its ports moves else
}

}  // namespace
}  // namespace eroica

#include "stream_ops/align/collective_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "schemas/codec.h"
#include "schemas/time_unit.h"
#include "stream_ops/align/align_test_batches.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum CollectiveOperation;

// Rows of several ranks: rows[r] are those of rank r.
std::vector<CollectiveBatch> Batches(std::vector<std::vector<CollectiveRecord>> rows,
                                     int64_t window = 0) {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < rows.size(); ++rank) ranks.push_back(rank);
  std::vector<CollectiveBatch> batches;
  for (uint32_t rank = 0; rank < rows.size(); ++rank)
    batches.push_back(BatchOf(rank, window, ranks, std::move(rows[rank])));
  return batches;
}

Alignment Align(const std::vector<CollectiveBatch>& batches,
                const std::vector<CollectiveBatch>& carried = {}, bool settle = false) {
  CollectiveAligner aligner;
  const Window window = batches.empty() ? carried.front().window : batches.front().window;
  return aligner.Align(
      {.window = window, .batches = batches, .carried = carried, .missing = {}, .settle = settle});
}

TEST(CollectiveAlignment, TheLastStarterHasTheShortestKernel) {
  // DLRM-like: rank 1 comes 40 ms late to the all_to_all and 18 ms late to the all_reduce.
  // Transfers take 10 and 2 ms.
  const Alignment result = Align(Batches({{RowOf(kAllToAll, 0, 50), RowOf(kAllReduce, 0, 20)},
                                          {RowOf(kAllToAll, 0, 10), RowOf(kAllReduce, 0, 2)},
                                          {RowOf(kAllToAll, 0, 45), RowOf(kAllReduce, 0, 12)}}));
  const CollectiveSummary& summary = result.summary;
  EXPECT_EQ(summary.job, JobId("job"));
  EXPECT_EQ(summary.communicator, CommId(7));
  EXPECT_EQ(summary.communicator_name, "dp");
  EXPECT_EQ(summary.communicator_description, "data parallel");
  EXPECT_EQ(summary.world_size, 8u);
  EXPECT_EQ(summary.window, TimeWindow(0));
  EXPECT_EQ(summary.operations, 2u);
  EXPECT_EQ(summary.incomplete, 0u);
  EXPECT_EQ(summary.transfer_ns, 12 * kNsPerMs);
  EXPECT_EQ(summary.bytes, 2'000u);
  EXPECT_EQ(summary.steps, 1u);
  ASSERT_EQ(summary.members.size(), 3u);
  EXPECT_EQ(summary.members[0], (MemberSummary{.rank = RankId(0),
                                               .count = 2,
                                               .wait_ns = 58 * kNsPerMs,
                                               .exposed_wait_ns = 58 * kNsPerMs,
                                               .late_steps = {},
                                               .blockers = {}}));
  EXPECT_EQ(summary.members[1], (MemberSummary{.rank = RankId(1),
                                               .count = 2,
                                               .wait_ns = 0,
                                               .exposed_wait_ns = 0,
                                               .last_count = 2,
                                               .lateness_ns = 35 * kNsPerMs + 10 * kNsPerMs,
                                               .caused_wait_ns = (40 + 35 + 18 + 10) * kNsPerMs,
                                               .late_steps = {0},
                                               .blockers = {}}));
  EXPECT_EQ(summary.members[2].wait_ns, 45 * kNsPerMs);
  EXPECT_EQ(result.rows, (RowCounts{.aligned = 6}));
  EXPECT_THAT(result.carried, IsEmpty());
}

TEST(CollectiveAlignment, AWaitIsExposedOnlyWhereNothingElseRan) {
  std::vector<CollectiveBatch> batches =
      Batches({{RowOf(kAllReduce, 0, 50)}, {RowOf(kAllReduce, 0, 10)}, {RowOf(kAllReduce, 0, 30)}});
  batches[0].records[0].exposed_ns = 5 * kNsPerMs;  // 40 ms of wait, 5 of them exposed
  batches[2].records[0].exposed_ns =
      25 * kNsPerMs;  // 20 ms of wait, all of them may have been exposed
  const CollectiveSummary summary = Align(batches).summary;
  EXPECT_EQ(summary.members[0].wait_ns, 40 * kNsPerMs);
  EXPECT_EQ(summary.members[0].exposed_wait_ns, 5 * kNsPerMs);
  EXPECT_EQ(summary.members[2].exposed_wait_ns, 20 * kNsPerMs);
  EXPECT_EQ(summary.members[1].caused_wait_ns, 25 * kNsPerMs);
}

TEST(CollectiveAlignment, WhenAllAreEqualNobodyIsLast) {
  const CollectiveSummary summary = Align(Batches({{RowOf(kAllReduce, 0, 30)},
                                                   {RowOf(kAllReduce, 0, 30)},
                                                   {RowOf(kAllReduce, 0, 30)}}))
                                        .summary;
  EXPECT_EQ(summary.operations, 1u);
  EXPECT_EQ(summary.transfer_ns, 30 * kNsPerMs);
  for (const MemberSummary& member : summary.members)
    EXPECT_EQ(member,
              (MemberSummary{.rank = member.rank, .count = 1, .late_steps = {}, .blockers = {}}));
}

TEST(CollectiveAlignment, ATieIsNobodys) {
  const auto last_count = [](CollectiveOperation operation, int64_t shortest_ns,
                             int64_t second_ns) {
    std::vector<CollectiveBatch> batches =
        Batches({{RowOf(operation, 0, 100)}, {RowOf(operation, 0, 0)}, {RowOf(operation, 0, 0)}});
    batches[1].records[0].duration_ns = shortest_ns;
    batches[2].records[0].duration_ns = second_ns;
    const CollectiveSummary summary = Align(batches).summary;
    EXPECT_EQ(summary.members[0].last_count + summary.members[2].last_count, 0u);
    EXPECT_EQ(summary.members[1].last_count == 0, summary.members[1].caused_wait_ns == 0);
    return summary.members[1].last_count;
  };
  EXPECT_EQ(last_count(kAllReduce, 20'000, 21'000), 0u);  // 1 us
  EXPECT_EQ(last_count(kAllReduce, 20'000, 21'001), 1u);  // more than 1 us and more than 1 %
  EXPECT_EQ(last_count(kBarrier, 20'000, 21'001), 1u);
  EXPECT_EQ(last_count(kAllReduce, 9'900'000, 10'000'000), 0u);  // 1 %
  EXPECT_EQ(last_count(kAllReduce, 9'899'999, 10'000'000), 1u);
}

TEST(CollectiveAlignment, ATieStillCountsTheWaitsOfTheOthers) {
  const CollectiveSummary summary = Align(Batches({{RowOf(kAllReduce, 0, 50)},
                                                   {RowOf(kAllReduce, 0, 10)},
                                                   {RowOf(kAllReduce, 0, 10)}}))
                                        .summary;
  EXPECT_EQ(summary.members[0].wait_ns, 40 * kNsPerMs);
  EXPECT_EQ(summary.members[1].caused_wait_ns + summary.members[2].caused_wait_ns, 0);
}

TEST(CollectiveAlignment, TheRootOfABroadcastIsNotLate) {
  // The root, rank 0, sends and leaves; its short duration says nothing. 0.9 ms are what a transfer
  // takes.
  std::vector<CollectiveBatch> batches =
      Batches({{RowOf(kBroadcast, 0, 0)}, {RowOf(kBroadcast, 0, 0)}, {RowOf(kBroadcast, 0, 0)}});
  batches[0].records[0].duration_ns = 5'000;
  batches[1].records[0].duration_ns = 905'000;
  batches[2].records[0].duration_ns = 950'000;
  const CollectiveSummary summary = Align(batches).summary;
  EXPECT_EQ(summary.operations, 1u);
  for (const MemberSummary& member : summary.members) {
    EXPECT_EQ(member.count, 1u);
    EXPECT_EQ(member.wait_ns, 0);
    EXPECT_EQ(member.last_count, 0u);
  }
}

TEST(CollectiveAlignment, ALateMemberOfABroadcastThatHeldUpNobodyIsNotNamed) {
  // Rank 1 came late; rank 0, the root, had left long ago, rank 2 had its data.
  const CollectiveSummary summary =
      Align(Batches(
                {{RowOf(kBroadcast, 0, 1)}, {RowOf(kBroadcast, 0, 1)}, {RowOf(kBroadcast, 0, 90)}}))
          .summary;
  for (const MemberSummary& member : summary.members) EXPECT_EQ(member.last_count, 0u);
}

TEST(CollectiveAlignment, WhoEverybodyWaitedForInARootedOperationIsLate) {
  for (const CollectiveOperation operation : {kBroadcast, kReduce, kGather, kScatter, kUnknown}) {
    const CollectiveSummary summary =
        Align(Batches(
                  {{RowOf(operation, 0, 1)}, {RowOf(operation, 0, 90)}, {RowOf(operation, 0, 91)}}))
            .summary;
    EXPECT_EQ(summary.members[0].last_count, 1u);
    EXPECT_EQ(summary.members[0].lateness_ns, 89 * kNsPerMs);
    EXPECT_EQ(summary.members[0].caused_wait_ns, (89 + 90) * kNsPerMs);
  }
}

TEST(CollectiveAlignment, BlockersAreWhatTheLastOneRanBefore) {
  std::vector<CollectiveBatch> batches =
      Batches({{RowOf(kAllReduce, 0, 50), RowOf(kAllReduce, 1, 30), RowOf(kAllReduce, 2, 5),
                RowOf(kAllReduce, 3, 9)},
               {RowOf(kAllReduce, 0, 10), RowOf(kAllReduce, 1, 10), RowOf(kAllReduce, 2, 9),
                RowOf(kAllReduce, 3, 5)}});
  batches[1].predecessors = {{FunctionId(1), "sleep", "forward"}, {FunctionId(2), "gemm", ""}};
  const auto ran_before = [&](uint32_t rank, size_t row, uint32_t before, int64_t ms) {
    batches[rank].records[row].before = before;
    batches[rank].records[row].before_ns = ms * kNsPerMs;
  };
  ran_before(1, 0, 2, 41);
  ran_before(1, 1, 1, 21);
  ran_before(1, 2, 1, 100);  // rank 0 came last there
  ran_before(1, 3, 1, 4);
  const CollectiveSummary summary = Align(batches).summary;
  EXPECT_THAT(summary.members[0].blockers,
              IsEmpty());  // it came last once, and nothing is known of what it ran
  EXPECT_EQ(summary.members[0].last_count, 1u);
  EXPECT_THAT(
      summary.members[1].blockers,
      ElementsAre(Blocker{FunctionId(2), "gemm", "", 1, 40 * kNsPerMs, 41 * kNsPerMs},
                  Blocker{FunctionId(1), "sleep", "forward", 2, 24 * kNsPerMs, 25 * kNsPerMs}));
}

TEST(CollectiveAlignment, OnlyTheWorstBlockersAreKept) {
  std::vector<CollectiveRecord> waiting;
  std::vector<CollectiveRecord> late;
  std::vector<CollectiveBatch> batches = Batches({{}, {}});
  for (uint32_t i = 0; i < 2 * kBlockersMax; ++i) {
    waiting.push_back(RowOf(kAllReduce, i, 10 + i));
    late.push_back(RowOf(kAllReduce, i, 1));
    late.back().before = i + 1;
    batches[1].predecessors.push_back({FunctionId(100 - i), std::to_string(i), ""});
  }
  batches[0].records = waiting;
  batches[1].records = late;
  const CollectiveSummary summary = Align(batches).summary;
  ASSERT_EQ(summary.members[1].blockers.size(), kBlockersMax);
  EXPECT_EQ(summary.members[1].blockers.front().name, std::to_string(2 * kBlockersMax - 1));
  EXPECT_EQ(summary.members[1].blockers.back().name, std::to_string(kBlockersMax));
}

TEST(CollectiveAlignment, AStepIsLateForWhoCausedMostWaitInIt) {
  // Step 4: rank 0 causes 5 + 5, rank 1 causes 9. Step 5: 7 each, nobody's. Step 6: rank 1 alone.
  // No step: not counted.
  const Alignment result = Align(
      Batches({{RowOf(kAllReduce, 0, 1, 4), RowOf(kAllReduce, 1, 1, 4), RowOf(kAllReduce, 2, 10, 4),
                RowOf(kAllReduce, 3, 1, 5), RowOf(kAllReduce, 4, 8, 5), RowOf(kAllReduce, 5, 4, 6),
                RowOf(kAllReduce, 6, 1, -1)},
               {RowOf(kAllReduce, 0, 6, 4), RowOf(kAllReduce, 1, 6, 4), RowOf(kAllReduce, 2, 1, 4),
                RowOf(kAllReduce, 3, 8, 5), RowOf(kAllReduce, 4, 1, 5), RowOf(kAllReduce, 5, 1, 6),
                RowOf(kAllReduce, 6, 9, -1)}}));
  EXPECT_THAT(result.summary.members[0].late_steps, ElementsAre(4));
  EXPECT_THAT(result.summary.members[1].late_steps, ElementsAre(6));
  EXPECT_EQ(result.summary.steps, 3u);
  EXPECT_EQ(result.summary.members[0].last_count, 4u);
}

TEST(CollectiveAlignment, OperationsAreCountedApart) {
  // Sequence numbers count per operation: 0 of the one is not 0 of the other.
  const Alignment result = Align(Batches({{RowOf(kAllGather, 0, 5), RowOf(kReduceScatter, 0, 9)},
                                          {RowOf(kReduceScatter, 0, 5), RowOf(kAllGather, 0, 9)}}));
  EXPECT_EQ(result.summary.operations, 2u);
  EXPECT_EQ(result.summary.members[0].last_count, 1u);
  EXPECT_EQ(result.summary.members[1].last_count, 1u);
}

TEST(CollectiveAlignment, WaitsAreThoseOfTheMembersThatReported) {
  // Rank 2 of four reported nothing. What the others did together still counts.
  std::vector<CollectiveBatch> batches = Batches(
      {{RowOf(kAllReduce, 0, 50)}, {RowOf(kAllReduce, 0, 10)}, {}, {RowOf(kAllReduce, 0, 50)}});
  batches.erase(batches.begin() + 2);
  CollectiveAligner aligner;
  const Alignment result = aligner.Align({.window = TimeWindow(0),
                                          .batches = batches,
                                          .carried = {},
                                          .missing = {RankId(2)},
                                          .settle = true});
  EXPECT_THAT(result.summary.missing, ElementsAre(RankId(2)));
  EXPECT_EQ(result.summary.operations, 1u);
  EXPECT_EQ(result.summary.incomplete, 0u);
  ASSERT_EQ(result.summary.members.size(), 3u);
  EXPECT_EQ(result.summary.members[1].caused_wait_ns, 80 * kNsPerMs);
}

TEST(CollectiveAlignment, WhatAMemberNeverJoinedIsIncomplete) {
  // Rank 2 stops after the first all_reduce; the others were still seen in the second.
  const auto batches = Batches({{RowOf(kAllReduce, 0, 5), RowOf(kAllReduce, 1, 900)},
                                {RowOf(kAllReduce, 0, 5), RowOf(kAllReduce, 1, 900)},
                                {RowOf(kAllReduce, 0, 5)}});
  const Alignment result = Align(batches, {}, /*settle=*/true);
  EXPECT_EQ(result.summary.operations, 1u);
  EXPECT_EQ(result.summary.incomplete, 1u);
  EXPECT_EQ(result.summary.members[0].incomplete, 1u);
  EXPECT_EQ(result.summary.members[0].wait_ns, 0);
  EXPECT_EQ(result.summary.members[2].incomplete, 0u);
  EXPECT_EQ(result.rows, (RowCounts{.aligned = 3, .incomplete = 2}));
}

TEST(CollectiveAlignment, ARowThatWasLostIsNoHang) {
  // Rank 1 has no row of number 1, but one of number 2: it has been there.
  const auto batches =
      Batches({{RowOf(kAllReduce, 0, 5), RowOf(kAllReduce, 1, 5), RowOf(kAllReduce, 2, 5)},
               {RowOf(kAllReduce, 0, 5), RowOf(kAllReduce, 2, 5)}});
  const Alignment result = Align(batches, {}, /*settle=*/true);
  EXPECT_EQ(result.summary.operations, 2u);
  EXPECT_EQ(result.summary.incomplete, 0u);
  EXPECT_EQ(result.rows, (RowCounts{.aligned = 4, .unobserved = 1}));
}

TEST(CollectiveAlignment, MismatchedOperationsAreIncompleteOnBothSides) {
  const auto batches = Batches({{RowOf(kAllReduce, 5, 5)}, {RowOf(kAllGather, 5, 5)}});
  const Alignment result = Align(batches, {}, /*settle=*/true);
  EXPECT_EQ(result.summary.incomplete, 2u);
  EXPECT_EQ(result.summary.members[0].incomplete, 1u);
  EXPECT_EQ(result.summary.members[1].incomplete, 1u);
}

TEST(CollectiveAlignment, WhatLiesBehindTheEdgeOfAWindowIsCarriedOver) {
  // The clock of rank 1 runs ahead: its number 1 lies in the next window already.
  std::vector<CollectiveBatch> first =
      Batches({{RowOf(kAllReduce, 0, 5), RowOf(kAllReduce, 1, 50)}, {RowOf(kAllReduce, 0, 5)}});
  first[0].predecessors = {{FunctionId(1), "unused", ""}, {FunctionId(2), "gemm", "forward"}};
  first[0].records[1].before = 2;
  const Alignment early = Align(first);
  EXPECT_EQ(early.summary.operations, 1u);
  EXPECT_EQ(early.summary.incomplete, 0u);
  EXPECT_EQ(early.rows, (RowCounts{.aligned = 2, .carried = 1}));
  ASSERT_EQ(early.carried.size(), 1u);
  EXPECT_EQ(early.carried[0].rank, RankId(0));
  EXPECT_THAT(early.carried[0].predecessors,
              ElementsAre(Predecessor{FunctionId(2), "gemm", "forward"}));
  EXPECT_EQ(early.carried[0].records[0].before, 1u);

  std::vector<CollectiveBatch> second = Batches({{}, {RowOf(kAllReduce, 1, 90)}}, 1);
  const Alignment late = Align(second, early.carried);
  EXPECT_EQ(late.summary.window, TimeWindow(1));
  EXPECT_EQ(late.summary.operations, 1u);
  EXPECT_EQ(late.summary.members[0].caused_wait_ns, 40 * kNsPerMs);
  EXPECT_THAT(late.summary.members[0].blockers,
              ElementsAre(Blocker{FunctionId(2), "gemm", "forward", 1, 40 * kNsPerMs, 0}));
  EXPECT_EQ(late.rows, (RowCounts{.aligned = 2}));
}

TEST(CollectiveAlignment, ARowIsCarriedOverOnce) {
  const Alignment first = Align(Batches({{RowOf(kAllReduce, 0, 5)}, {}}));
  ASSERT_EQ(first.carried.size(), 1u);
  const Alignment second = Align(Batches({{}, {}}, 1), first.carried);
  EXPECT_THAT(second.carried, IsEmpty());
  EXPECT_EQ(second.summary.incomplete, 1u);
  EXPECT_EQ(second.summary.members[0].incomplete, 1u);
}

TEST(CollectiveAlignment, CarriedRowsAloneAreSettled) {
  const Alignment first = Align(Batches({{RowOf(kAllReduce, 0, 5)}, {}}));
  const Alignment tail = Align({}, first.carried, /*settle=*/true);
  EXPECT_EQ(tail.summary.operations, 0u);
  EXPECT_EQ(tail.summary.incomplete, 1u);
  EXPECT_EQ(tail.rows, (RowCounts{.incomplete = 1}));
}

TEST(CollectiveAlignment, ASecondRowOfTheSameOperationIsADuplicate) {
  const auto batches =
      Batches({{RowOf(kAllReduce, 0, 50), RowOf(kAllReduce, 0, 1)}, {RowOf(kAllReduce, 0, 10)}});
  const Alignment result = Align(batches);
  EXPECT_EQ(result.summary.members[1].caused_wait_ns, 40 * kNsPerMs);
  EXPECT_EQ(result.rows, (RowCounts{.aligned = 2, .duplicate = 1}));
}

TEST(CollectiveAlignment, APointToPointRingMeetsPairByPair) {
  // Three stages in a ring, two micro-batches each. Rank 0 is slow: rank 1 waits in its receives.
  const auto batches = Batches({{PairRow(kSend, 1, 0, 1), PairRow(kRecv, 2, 0, 2),
                                 PairRow(kSend, 1, 1, 1), PairRow(kRecv, 2, 1, 2)},
                                {PairRow(kRecv, 0, 0, 30), PairRow(kSend, 2, 0, 3),
                                 PairRow(kRecv, 0, 1, 40), PairRow(kSend, 2, 1, 3)},
                                {PairRow(kRecv, 1, 0, 7), PairRow(kSend, 0, 0, 1),
                                 PairRow(kRecv, 1, 1, 8), PairRow(kSend, 0, 1, 1)}});
  const Alignment result = Align(batches);
  EXPECT_THAT(
      result.summary.pairs,
      ElementsAre(
          PairSummary{RankId(0), RankId(1), 2, 70 * kNsPerMs, 2 * kNsPerMs, 0, 2 * kNsPerMs},
          PairSummary{RankId(1), RankId(2), 2, 15 * kNsPerMs, 6 * kNsPerMs, 0, 6 * kNsPerMs},
          PairSummary{RankId(2), RankId(0), 2, 4 * kNsPerMs, 2 * kNsPerMs, 0, 2 * kNsPerMs}));
  EXPECT_EQ(result.summary.operations, 0u);  // collectives only
  EXPECT_EQ(result.rows, (RowCounts{.aligned = 12}));
}

TEST(CollectiveAlignment, ASendWithoutItsReceiveWaitsOneWindowForIt) {
  const Alignment first = Align(
      Batches({{PairRow(kSend, 1, 0, 1), PairRow(kSend, 1, 1, 2)}, {PairRow(kRecv, 0, 0, 5)}}));
  EXPECT_THAT(first.summary.pairs, ElementsAre(PairSummary{RankId(0), RankId(1), 1, 5 * kNsPerMs,
                                                           1 * kNsPerMs, 0, 1 * kNsPerMs}));
  EXPECT_EQ(first.rows, (RowCounts{.aligned = 2, .carried = 1}));

  const Alignment met = Align(Batches({{}, {PairRow(kRecv, 0, 1, 6)}}, 1), first.carried);
  EXPECT_THAT(met.summary.pairs, ElementsAre(PairSummary{RankId(0), RankId(1), 1, 6 * kNsPerMs,
                                                         2 * kNsPerMs, 0, 2 * kNsPerMs}));
  const Alignment never = Align(Batches({{}, {}}, 1), first.carried);
  EXPECT_THAT(never.summary.pairs,
              ElementsAre(PairSummary{RankId(0), RankId(1), 0, 0, 2 * kNsPerMs, 1}));
  EXPECT_EQ(never.rows, (RowCounts{.incomplete = 1}));
  const Alignment lost = Align(Batches({{}, {PairRow(kRecv, 0, 2, 6)}}, 1), first.carried);
  EXPECT_EQ(lost.rows, (RowCounts{.unobserved = 1, .carried = 1}));
}

TEST(CollectiveAlignment, APeerlessOrRepeatedPointToPointRowMeetsNothing) {
  const Alignment result =
      Align(Batches({{PairRow(kSend, 1, 0, 1), PairRow(kSend, 1, 0, 9), RowOf(kSend, 0, 1)},
                     {PairRow(kRecv, 0, 0, 5)}}));
  EXPECT_THAT(result.summary.pairs, ElementsAre(PairSummary{RankId(0), RankId(1), 1, 5 * kNsPerMs,
                                                            1 * kNsPerMs, 0, 1 * kNsPerMs}));
  EXPECT_EQ(result.rows, (RowCounts{.aligned = 2, .unobserved = 1, .duplicate = 1}));
}

TEST(CollectiveAlignment, AnEmptyWindowIsASummaryWithoutOperations) {
  const CollectiveSummary summary = Align(Batches({{}, {}})).summary;
  EXPECT_EQ(summary.members.size(), 2u);
  EXPECT_EQ(summary.operations, 0u);
}

TEST(CollectiveAlignment, TheLargestNumbersDoNotOverflow) {
  const uint64_t largest = ~uint64_t{0};
  std::vector<CollectiveBatch> batches =
      Batches({{RowOf(kAllReduce, largest, 0)}, {RowOf(kAllReduce, largest, 0)}});
  for (CollectiveBatch& batch : batches) {
    for (const CollectiveOperation operation : {kAllGather, kReduceScatter})
      batch.records.push_back(RowOf(operation, largest, 0));
  }
  for (CollectiveRecord& row : batches[0].records)
    row.duration_ns = row.exposed_ns = int64_t{1} << 62;
  const Alignment result = Align(batches, {}, true);
  EXPECT_EQ(result.summary.operations, 3u);
  EXPECT_EQ(result.summary.members[0].wait_ns, CodecLimits::kMaxTimeNs);
  EXPECT_EQ(result.summary.members[1].caused_wait_ns, CodecLimits::kMaxTimeNs);
}

}  // namespace
}  // namespace eroica

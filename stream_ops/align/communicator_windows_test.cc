#include "stream_ops/align/communicator_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "stream_ops/align/align_test_batches.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<uint32_t> kBoth = {0, 1};

CollectiveBatch FinalBatchOf(uint32_t rank, int64_t window, std::vector<uint32_t> members) {
  CollectiveBatch batch = BatchOf(rank, window, std::move(members));
  batch.final = true;
  return batch;
}

TEST(CommunicatorWindows, AWindowIsCompleteWhenAllMembersHaveDelivered) {
  CommunicatorWindows windows;
  EXPECT_FALSE(windows.OldestIsComplete());
  EXPECT_EQ(windows.Add(BatchOf(1, 5, kBoth), 100), DropReason::kNone);
  EXPECT_FALSE(windows.OldestIsComplete());
  EXPECT_EQ(windows.Add(BatchOf(0, 5, kBoth), 101), DropReason::kNone);
  ASSERT_TRUE(windows.OldestIsComplete());
  const ClosedWindow closed = windows.CloseOldest();
  EXPECT_EQ(closed.window, TimeWindow(5));
  ASSERT_EQ(closed.batches.size(), 2u);
  EXPECT_EQ(closed.batches[0].rank, RankId(0));
  EXPECT_THAT(closed.missing, IsEmpty());
  EXPECT_FALSE(closed.last);
  EXPECT_FALSE(windows.HasOpen());
  EXPECT_EQ(windows.closed_through(), 5);
}

TEST(CommunicatorWindows, WhoDeliversALaterWindowIsNotWaitedFor) {
  CommunicatorWindows windows;
  windows.Add(BatchOf(0, 5, kBoth), 0);
  windows.Add(BatchOf(1, 6, kBoth), 1);
  ASSERT_TRUE(windows.OldestIsComplete());
  EXPECT_THAT(windows.CloseOldest().missing, ElementsAre(RankId(1)));
  EXPECT_FALSE(windows.OldestIsComplete());
  EXPECT_TRUE(windows.HasOpen());
}

TEST(CommunicatorWindows, WhoIsFinishedIsNotWaitedForAndNotMissing) {
  CommunicatorWindows windows;
  windows.Add(FinalBatchOf(0, 5, kBoth), 0);
  windows.Add(BatchOf(1, 5, kBoth), 1);
  EXPECT_FALSE(windows.CloseOldest().last);
  EXPECT_THAT(windows.FinishedRanks(), ElementsAre(RankId(0)));
  windows.Add(FinalBatchOf(1, 6, kBoth), 2);
  ASSERT_TRUE(windows.OldestIsComplete());
  const ClosedWindow closed = windows.CloseOldest();
  EXPECT_THAT(closed.missing, IsEmpty());
  EXPECT_TRUE(closed.last);
  EXPECT_THAT(windows.FinishedRanks(), IsEmpty());  // a later run has members of its own
}

TEST(CommunicatorWindows, AWindowBeforeOthersIsNotTheLast) {
  CommunicatorWindows windows;
  windows.Add(BatchOf(0, 5, kBoth), 0);
  windows.Add(FinalBatchOf(0, 6, kBoth), 1);
  windows.Add(BatchOf(1, 5, kBoth), 2);
  windows.Add(FinalBatchOf(1, 6, kBoth), 3);
  EXPECT_FALSE(windows.CloseOldest().last);
  ASSERT_TRUE(windows.OldestIsComplete());
  EXPECT_TRUE(windows.CloseOldest().last);
}

TEST(CommunicatorWindows, ARankThatReportsAfterItsEndIsWaitedForAgain) {
  CommunicatorWindows windows;
  windows.Add(FinalBatchOf(0, 5, kBoth), 0);
  windows.Add(BatchOf(0, 6, kBoth), 1);
  windows.Add(BatchOf(1, 7, kBoth), 2);
  ASSERT_TRUE(windows.OldestIsComplete());
  windows.CloseOldest();
  ASSERT_TRUE(windows.OldestIsComplete());
  windows.CloseOldest();
  EXPECT_FALSE(windows.OldestIsComplete());
}

TEST(CommunicatorWindows, WhatARankSaidBeforeItsEndMayComeAgainAfterIt) {
  CommunicatorWindows windows;
  windows.Add(BatchOf(0, 4, kBoth), 0);
  windows.Add(BatchOf(0, 5, kBoth), 1);
  windows.Add(FinalBatchOf(0, 6, kBoth), 2);
  windows.Add(BatchOf(1, 4, kBoth), 3);
  windows.CloseOldest();
  EXPECT_EQ(windows.Add(BatchOf(0, 4, kBoth), 4), DropReason::kLate);
  EXPECT_EQ(windows.Add(BatchOf(0, 5, kBoth), 5), DropReason::kDuplicate);
  EXPECT_THAT(windows.FinishedRanks(), ElementsAre(RankId(0)));
  windows.Add(FinalBatchOf(1, 6, kBoth), 6);
  EXPECT_FALSE(windows.CloseOldest().last);
  ASSERT_TRUE(windows.OldestIsComplete());
  EXPECT_TRUE(windows.CloseOldest().last);
}

TEST(CommunicatorWindows, LateAndRepeatedBatchesAreToldApart) {
  CommunicatorWindows windows;
  windows.Add(BatchOf(0, 5, kBoth), 0);
  EXPECT_EQ(windows.Add(BatchOf(0, 5, kBoth), 1), DropReason::kDuplicate);
  windows.Add(BatchOf(1, 5, kBoth), 2);
  windows.CloseOldest();
  EXPECT_EQ(windows.Add(BatchOf(0, 5, kBoth), 3), DropReason::kLate);
  EXPECT_EQ(windows.Add(BatchOf(0, 4, kBoth), 4), DropReason::kLate);
  EXPECT_FALSE(windows.HasOpen());
}

TEST(CommunicatorWindows, ASizeWithoutAListIsEnough) {
  CommunicatorWindows windows;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_FALSE(windows.OldestIsComplete());
    CollectiveBatch batch = BatchOf(rank, 5, {});
    batch.communicator.size = 3;
    windows.Add(batch, rank);
  }
  ASSERT_TRUE(windows.OldestIsComplete());
  EXPECT_THAT(windows.CloseOldest().missing, IsEmpty());
}

TEST(CommunicatorWindows, WithoutSizeAndListAWindowEndsWhenAllHaveDeliveredALaterOne) {
  CommunicatorWindows windows;
  windows.Add(BatchOf(0, 5, {}), 0);
  windows.Add(BatchOf(1, 5, {}), 1);
  EXPECT_FALSE(windows.OldestIsComplete());
  windows.Add(BatchOf(1, 6, {}), 2);
  EXPECT_FALSE(windows.OldestIsComplete());
  windows.Add(BatchOf(0, 7, {}), 3);
  ASSERT_TRUE(windows.OldestIsComplete());
  EXPECT_EQ(windows.CloseOldest().batches.size(), 2u);
  EXPECT_FALSE(windows.OldestIsComplete());
}

TEST(CommunicatorWindows, TheFirstOffsetIsThatOfTheOpenWindows) {
  CommunicatorWindows windows;
  EXPECT_EQ(windows.first_offset(), std::nullopt);
  windows.Add(BatchOf(0, 6, kBoth), 10);
  windows.Add(BatchOf(1, 5, kBoth), 11);
  windows.Add(BatchOf(1, 6, kBoth), 12);
  EXPECT_EQ(windows.first_offset(), 10);
  windows.CloseOldest();
  EXPECT_EQ(windows.first_offset(), 10);
  windows.CloseOldest();
  EXPECT_EQ(windows.first_offset(), std::nullopt);
}

TEST(CommunicatorWindows, GoesOnWhereAFormerLifeEnded) {
  CommunicatorWindows windows;
  windows.Restore(5, {RankId(0)});
  EXPECT_EQ(windows.Add(BatchOf(1, 5, kBoth), 0), DropReason::kLate);
  windows.Add(BatchOf(1, 6, kBoth), 1);
  EXPECT_TRUE(windows.OldestIsComplete());
  EXPECT_THAT(windows.FinishedRanks(), ElementsAre(RankId(0)));
}

TEST(CommunicatorWindows, TheWorldHoldsEveryMemberOfAFormerLife) {
  CommunicatorWindows windows;
  windows.RestoreMembers({0, 1, 70});
  windows.Add(BatchOf(0, 5, {}), 0);
  EXPECT_THAT(windows.CloseOldest().missing, ElementsAre(RankId(1), RankId(70)));
  EXPECT_EQ(windows.world_size(), 71u);
}

TEST(CommunicatorWindows, OneListNamesTheMissingForAll) {
  for (const int64_t lister : {0, 1, 2}) {
    CommunicatorWindows windows;
    for (int64_t i = 0; i < 3; ++i) {
      CollectiveBatch batch = BatchOf(static_cast<uint32_t>(10 + i), 5, {10, 11, 12, 13});
      if (i != lister) batch.communicator.ranks.clear();
      EXPECT_EQ(windows.Add(std::move(batch), i), DropReason::kNone);
    }
    EXPECT_FALSE(windows.OldestIsComplete());
    EXPECT_TRUE(windows.TakeListChange());
    EXPECT_FALSE(windows.TakeListChange());
    EXPECT_THAT(windows.CloseOldest().missing, ElementsAre(RankId(13)));
  }
}

TEST(CommunicatorWindows, KeepsTheListOfMembersOnce) {
  CommunicatorWindows windows;
  windows.Add(BatchOf(0, 5, kBoth), 0);
  windows.Add(BatchOf(1, 5, kBoth), 1);
  for (const CollectiveBatch& batch : windows.CloseOldest().batches)
    EXPECT_THAT(batch.communicator.ranks, IsEmpty());
}

}  // namespace
}  // namespace eroica

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

// Windows of eight steps and a second, of a run that began then.
CollectiveBatch BatchOfRun(int64_t start_s, uint32_t rank, int64_t index) {
  CollectiveBatch batch = BatchOf(rank, index, kBoth);
  const int64_t start_ns = (start_s + index) * 1'000'000'000;
  batch.window = {.kind = WindowKind::kSteps,
                  .index = index,
                  .start_ns = start_ns,
                  .end_ns = start_ns + 1'000'000'000,
                  .first_step = index * 8,
                  .last_step = index * 8 + 7};
  return batch;
}

TEST(CommunicatorWindows, AJobThatIsStartedAgainBeginsItsWindowsAnew) {
  CommunicatorWindows windows;
  const auto close = [&windows](int64_t start_s, int64_t index) {
    for (const uint32_t rank : kBoth)
      EXPECT_EQ(windows.Add(BatchOfRun(start_s, rank, index), 0), DropReason::kNone);
    EXPECT_TRUE(windows.OldestIsComplete());
    return windows.CloseOldest();
  };
  for (const int64_t index : {0, 1, 2}) EXPECT_FALSE(close(100, index).begins_run);
  const ClosedWindow first = close(200, 0);
  EXPECT_TRUE(first.begins_run);
  EXPECT_EQ(first.window.index, 0) << "as it came in";
  EXPECT_EQ(windows.closed_through(), 3);
  EXPECT_FALSE(close(200, 1).begins_run);
  EXPECT_EQ(windows.Add(BatchOfRun(100, 0, 2), 0), DropReason::kLate);
}

TEST(CommunicatorWindows, TheNextRunClosesWhatTheOneBeforeLeftOpen) {
  CommunicatorWindows windows;
  windows.Add(BatchOfRun(100, 0, 0), 0);
  windows.Add(BatchOfRun(100, 1, 0), 0);
  windows.CloseOldest();
  windows.Add(BatchOfRun(100, 0, 1), 1);  // rank 1 was killed in this window
  EXPECT_FALSE(windows.OldestIsComplete());
  windows.Add(BatchOfRun(200, 1, 0), 2);
  EXPECT_TRUE(windows.OldestIsComplete());
  EXPECT_EQ(windows.CloseOldest().batches.size(), 1u);
  windows.Add(BatchOfRun(200, 0, 0), 3);
  EXPECT_TRUE(windows.OldestIsComplete());
  EXPECT_EQ(windows.CloseOldest().batches.size(), 2u);
}

}  // namespace
}  // namespace eroica

#include "producers/export/batch_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kAll = 1'000;

// Intervals of 10 ns at 0, 20, 40, 60, the second and the last of them collectives; a step from 20
// to 50.
EventBatch BatchToCut() {
  EventBatch batch;
  batch.functions = {{"f", FunctionClass::kGpuCompute}};
  batch.lanes = {{"main", LaneKind::kTrainingThread}};
  batch.communicators = {{CommId(1), "0", "", 2, {0, 1}}};
  for (const int64_t start : {0, 20, 40, 60}) batch.intervals.push_back(start, 10, 0, 0);
  batch.collectives = {{.interval = 1, .sequence = 7}, {.interval = 3, .sequence = 8}};
  batch.samples = {{.time_ns = 30}};
  batch.marks = {{0, MarkKind::kOptimizerStep, 0},
                 {20, MarkKind::kStepBegin, 1},
                 {50, MarkKind::kStepEnd, 1},
                 {50, MarkKind::kStepBegin, 2}};
  return batch;
}

TEST(CutBatch, TakesWhatBeginsInTheRangeWithItsCollectives) {
  const EventBatch cut = CutBatch(BatchToCut(), {20, 60}, kAll);
  EXPECT_THAT(cut.intervals.start_ns, ElementsAre(20, 40));
  ASSERT_EQ(cut.collectives.size(), 1);
  EXPECT_EQ(cut.collectives[0].interval, 0);
  EXPECT_EQ(cut.collectives[0].sequence, 7);
  EXPECT_THAT(cut.samples, IsEmpty());
  EXPECT_EQ(IntervalsIn(BatchToCut(), {20, 60}), 2);
}

TEST(CutBatch, WhatReachesIntoTheRangeIsCutAtItsBegin) {
  const EventBatch cut = CutBatch(BatchToCut(), {5, 45}, kAll);
  EXPECT_THAT(cut.intervals.start_ns, ElementsAre(5, 20, 40));
  EXPECT_THAT(cut.intervals.duration_ns, ElementsAre(5, 10, 10)) << "its end is its own";
  EXPECT_THAT(CutBatch(BatchToCut(), {10, 20}, kAll).intervals.start_ns, IsEmpty());
}

TEST(CutBatch, AStepThatEndsWithTheRangeKeepsItsEnd) {
  const EventBatch cut = CutBatch(BatchToCut(), {20, 50}, kAll);
  EXPECT_THAT(cut.marks,
              ElementsAre(Mark{20, MarkKind::kStepBegin, 1}, Mark{50, MarkKind::kStepEnd, 1}));
}

TEST(CutBatch, TakesNoMoreThanThereIsRoomFor) {
  const EventBatch cut = CutBatch(BatchToCut(), {0, 100}, 2);
  EXPECT_THAT(cut.intervals.start_ns, ElementsAre(0, 20));
  EXPECT_EQ(cut.collectives.size(), 1);
  EXPECT_THAT(CutBatch(BatchToCut(), {0, 100}, 0).intervals.start_ns, IsEmpty());
}

}  // namespace
}  // namespace eroica

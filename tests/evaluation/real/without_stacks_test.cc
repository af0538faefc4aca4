#include "tests/evaluation/real/without_stacks.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

constexpr uint8_t kTraining = 0;
constexpr uint8_t kOther = 1;

EventBatch BatchWithStacks() {
  EventBatch batch;
  batch.sequence = 3;
  batch.final = true;
  batch.lanes = {{"main", LaneKind::kTrainingThread}, {"loader", LaneKind::kHostThread}};
  batch.functions = {{"main", FunctionClass::kPython},
                     {"forward", FunctionClass::kPython, WaitKind::kNone, 0},
                     {"all_reduce", FunctionClass::kCollective, WaitKind::kNone, 1},
                     {"aten::mm", FunctionClass::kCpuOp},
                     {"(runnable, waiting for a processor)", FunctionClass::kPython}};
  batch.communicators = {{.id = CommId{7}, .name = "world", .size = 4}};
  batch.intervals.push_back(100, 40, 0, kTraining);
  batch.intervals.push_back(110, 20, 1, kTraining);
  batch.intervals.push_back(115, 5, 3, kTraining);
  batch.intervals.push_back(120, 30, 1, kOther);
  batch.intervals.push_back(130, 10, 2, kTraining);
  batch.intervals.push_back(141, 4, 4, kTraining);
  batch.collectives = {
      {.interval = 4, .operation = CollectiveOperation::kAllReduce, .sequence = 9}};
  batch.samples = {{105, Resource::kStacks, 1}, {106, Resource::kCpu, 0.5f}};
  batch.progress = {{.time_ns = 140, .step = 2, .function = 1}};
  return batch;
}

TEST(WithoutStacks, LeavesWhatIsNotPythonOfTheTrainingThread) {
  const EventBatch batch = WithoutStacks(BatchWithStacks());
  IntervalColumns expected;
  expected.push_back(115, 5, 3, kTraining);
  expected.push_back(120, 30, 1, kOther);
  expected.push_back(130, 10, 2, kTraining);
  expected.push_back(141, 4, 4, kTraining);
  EXPECT_EQ(batch.intervals, expected);
  EXPECT_EQ(batch.sequence, 3u);
  EXPECT_TRUE(batch.final);
}

TEST(WithoutStacks, CollectivesMoveWithTheirIntervals) {
  const EventBatch batch = WithoutStacks(BatchWithStacks());
  ASSERT_EQ(batch.collectives.size(), 1u);
  EXPECT_EQ(batch.collectives[0].interval, 2u);
  EXPECT_EQ(batch.collectives[0].sequence, 9u);
}

TEST(WithoutStacks, WhatPythonCalledIsCalledByNobody) {
  const EventBatch batch = WithoutStacks(BatchWithStacks());
  EXPECT_EQ(batch.functions[2].parent, kNoParent);
  EXPECT_EQ(batch.functions[1].parent, 0u) << "the stacks of other threads stay";
}

TEST(WithoutStacks, NothingTellsThatStacksWereRead) {
  const EventBatch batch = WithoutStacks(BatchWithStacks());
  ASSERT_EQ(batch.samples.size(), 1u);
  EXPECT_EQ(batch.samples[0].resource, Resource::kCpu);
  EXPECT_EQ(batch.progress[0].function, kNoParent);
  EXPECT_EQ(batch.progress[0].step, 2);
}

TEST(WithoutStacks, LeavesABatchWithoutPythonAsItIs) {
  EventBatch batch;
  batch.lanes = {{"stream", LaneKind::kDeviceStream}};
  batch.functions = {{"gemm", FunctionClass::kGpuCompute}};
  batch.intervals.push_back(1, 2, 0, 0);
  batch.marks = {{1, MarkKind::kStepBegin, 4}};
  EXPECT_EQ(WithoutStacks(batch), batch);
}

}  // namespace
}  // namespace eroica

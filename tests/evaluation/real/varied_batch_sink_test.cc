#include "tests/evaluation/real/varied_batch_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace eroica {
namespace {

class Written final : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    batches.push_back(batch);
    return answer;
  }
  std::vector<EventBatch> batches;
  absl::Status answer;
};

// Two steps of a rank, in one batch each.
EventBatch BatchOf(uint32_t rank, uint64_t sequence) {
  const auto begin_ns = static_cast<int64_t>(1'000 + 100 * sequence);
  const auto step = static_cast<int64_t>(5 + sequence);
  EventBatch batch;
  batch.identity.job = JobId{"job"};
  batch.identity.rank = RankId{rank};
  batch.identity.world_size = 4;
  batch.identity.window_steps = 64;
  batch.sequence = sequence;
  batch.final = sequence == 1;
  batch.functions = {{"gemm", FunctionClass::kGpuCompute}};
  batch.lanes = {{"main", LaneKind::kTrainingThread}};
  batch.intervals.push_back(begin_ns + 10, 80, 0, 0);
  batch.intervals.push_back(begin_ns + 20, 10, 0, 0);
  batch.marks = {{begin_ns, MarkKind::kStepBegin, step},
                 {begin_ns + 30, MarkKind::kOptimizerStep, 0},
                 {begin_ns + 95, MarkKind::kStepEnd, step}};
  batch.progress = {{.time_ns = begin_ns + 50, .step = step}};
  return batch;
}

std::vector<EventBatch> Vary(const Variation& variation, uint32_t ranks = 1) {
  Written written;
  VariedBatchSink sink(written, variation);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    for (const uint64_t sequence : {0u, 1u}) EXPECT_TRUE(sink.Write(BatchOf(rank, sequence)).ok());
  }
  return written.batches;
}

TEST(VariedBatchSink, LetsRecordedRanksThroughAndTheWorldSizeStays) {
  const std::vector<EventBatch> batches =
      Vary({.window_steps = 64, .part = RecordedPart::kHalf, .ranks = {1, 3}}, 4);
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_EQ(batches[0], BatchOf(1, 0));
  EXPECT_EQ(batches[1], BatchOf(1, 1));
  EXPECT_EQ(batches[2], BatchOf(3, 0));
  EXPECT_EQ(batches[3].identity.world_size, 4u);
}

TEST(VariedBatchSink, SetsTheLengthOfWindowsAndNothingElse) {
  const std::vector<EventBatch> batches = Vary({.window_steps = 2, .ranks = {0}});
  EventBatch expected = BatchOf(0, 0);
  expected.identity.window_steps = 2;
  EXPECT_EQ(batches.at(0), expected);
}

TEST(VariedBatchSink, OneStepReachesFromTheFirstEventToTheEndOfTheLast) {
  const std::vector<EventBatch> batches =
      Vary({.step_marks = StepMarks::kOneStep, .ranks = {0, 1}}, 2);
  ASSERT_EQ(batches.size(), 4u);
  for (const size_t first : {0u, 2u}) {
    const std::vector<Mark> begin = {{1'010, MarkKind::kStepBegin, 0},
                                     {1'030, MarkKind::kOptimizerStep, 0}};
    const std::vector<Mark> end = {{1'130, MarkKind::kOptimizerStep, 0},
                                   {1'190, MarkKind::kStepEnd, 0}};
    EXPECT_EQ(batches[first].marks, begin);
    EXPECT_EQ(batches[first + 1].marks, end);
    EXPECT_EQ(batches[first + 1].progress[0].step, 0);
    EXPECT_EQ(batches[first].intervals, BatchOf(0, 0).intervals);
    EXPECT_EQ(batches[first].identity.window_steps, kWholeJob);
  }
}

TEST(VariedBatchSink, WithoutACountOfStepsWindowsAreOfTime) {
  const std::vector<EventBatch> batches = Vary({.step_marks = StepMarks::kNone, .ranks = {0}});
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].identity.window_steps, 0u);
  EXPECT_EQ(batches[0].progress[0].step, -1);
  ASSERT_EQ(batches[0].marks.size(), 1u);
  EXPECT_EQ(batches[0].marks[0].kind, MarkKind::kOptimizerStep);
}

TEST(VariedBatchSink, AnswersWhatTheOtherSinkAnswers) {
  Written written;
  written.answer = absl::UnavailableError("full");
  const Variation variation{.ranks = {0}};
  VariedBatchSink sink(written, variation);
  EXPECT_TRUE(absl::IsUnavailable(sink.Write(BatchOf(0, 0))));
  EXPECT_TRUE(sink.Write(BatchOf(1, 0)).ok()) << "a rank that is not recorded";
}

}  // namespace
}  // namespace eroica

#include "diagnosis/suppressed_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two ranks that tell of the same steps.
std::vector<PatternBatch> Job(int64_t first, int64_t last) {
  std::vector<PatternBatch> batches(2);
  for (PatternBatch& batch : batches) {
    for (int64_t id = first; id <= last; ++id)
      batch.steps.push_back({.id = id, .duration_ns = 100});
  }
  return batches;
}

std::vector<int64_t> Ids(const PatternBatch& batch) {
  std::vector<int64_t> ids;
  for (const StepRecord& step : batch.steps) ids.push_back(step.id);
  return ids;
}

TEST(SuppressedSteps, AStepThatOneRankSpentInAPauseIsNobodys) {
  std::vector<PatternBatch> batches = Job(10, 15);
  batches[1].steps[2].pause = Pause::kCheckpoint;
  batches[0].steps[4].pause = Pause::kEvaluation;
  batches[1].steps[4].pause = Pause::kEvaluation;
  const SuppressedSteps suppressed = SuppressSteps(batches);
  EXPECT_EQ(suppressed.checkpoint, 1u);
  EXPECT_EQ(suppressed.evaluation, 1u);
  EXPECT_EQ(suppressed.all(), 2u);
  EXPECT_EQ(suppressed.Text(), "1 of a checkpoint, 1 of an evaluation");
  for (const PatternBatch& batch : batches) EXPECT_THAT(Ids(batch), ElementsAre(10, 11, 13, 15));
}

FunctionPattern Ran(uint64_t function, uint32_t steps,
                    FunctionClass function_class = FunctionClass::kPython) {
  FunctionPattern pattern;
  pattern.function = FunctionId{function};
  pattern.function_class = function_class;
  pattern.active_steps = steps;
  return pattern;
}

TEST(SuppressedSteps, WhatAPauseIsSpentInGoesWithIt) {
  constexpr uint64_t kSave = 1, kForward = 2, kGemm = 3, kCollect = 4;
  std::vector<PatternBatch> batches = Job(10, 15);
  batches.push_back(batches[0]);
  for (PatternBatch& batch : batches)
    batch.patterns = {Ran(kSave, 1), Ran(kForward, 6), Ran(kGemm, 1, FunctionClass::kGpuCompute)};
  batches[0].patterns.push_back(Ran(kCollect, 1));
  const std::vector<PatternBatch> before = batches;
  SuppressSteps(batches);
  EXPECT_EQ(batches, before) << "no pause";
  batches[1].steps[2].pause = Pause::kCheckpoint;
  SuppressSteps(batches);
  EXPECT_THAT(batches[0].patterns,
              ElementsAre(before[0].patterns[1], before[0].patterns[2], before[0].patterns[3]))
      << "one rank of three collects";
  EXPECT_THAT(batches[2].patterns, ElementsAre(before[2].patterns[1], before[2].patterns[2]));
  std::vector<PatternBatch> twice = before;
  twice[1].steps[2].pause = Pause::kCheckpoint;
  twice[1].patterns[0].active_steps = 2;
  SuppressSteps(twice);
  EXPECT_EQ(twice[0].patterns, before[0].patterns) << "somebody runs it in another step, too";
}

TEST(SuppressedSteps, TheFirstStepsOfAProcessAreWarmUp) {
  std::vector<PatternBatch> batches = Job(0, 6);
  EXPECT_EQ(SuppressSteps(batches).warm_up, 3u);
  EXPECT_THAT(Ids(batches[0]), ElementsAre(3, 4, 5, 6));
  std::vector<PatternBatch> later = Job(3, 6);
  EXPECT_EQ(SuppressSteps(later).all(), 0u);
  EXPECT_EQ(SuppressSteps(later).Text(), "");
}

TEST(SuppressedSteps, AShortTraceIsDiagnosedAsItIs) {
  std::vector<PatternBatch> one = Job(0, 0);
  EXPECT_EQ(SuppressSteps(one).all(), 0u);
  EXPECT_THAT(Ids(one[0]), ElementsAre(0));
  std::vector<PatternBatch> five = Job(0, 4);
  five[0].steps[4].pause = Pause::kCheckpoint;
  EXPECT_EQ(SuppressSteps(five).all(), 1u)
      << "the checkpoint goes, two steps and those of warm-up stay";
  EXPECT_THAT(Ids(five[0]), ElementsAre(0, 1, 2, 3));
  std::vector<PatternBatch> none;
  EXPECT_EQ(SuppressSteps(none).all(), 0u);
  std::vector<PatternBatch> paused = Job(7, 7);
  paused[0].steps[0].pause = Pause::kCheckpoint;
  EXPECT_EQ(SuppressSteps(paused).checkpoint, 1u);
  EXPECT_THAT(Ids(paused[1]), IsEmpty());
}

}  // namespace
}  // namespace eroica

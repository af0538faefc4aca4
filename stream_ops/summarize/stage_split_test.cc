#include "stream_ops/summarize/stage_split.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

using Stages = std::array<int64_t, kStepStageCount>;

Stages SplitOneStep(const std::vector<Mark>& marks) {
  const std::vector<StepSpan> spans = {{7, 100, 200}};
  std::vector<StepRecord> steps = {{.id = 7, .duration_ns = 100}};
  SplitIntoStages(marks, spans, &steps);
  return steps[0].stage_ns;
}

TEST(StageSplit, AtTheMarks) {
  EXPECT_EQ(SplitOneStep({{110, MarkKind::kForwardBegin, 7},
                          {140, MarkKind::kBackwardBegin, 7},
                          {190, MarkKind::kOptimizerBegin, 7}}),
            (Stages{10, 30, 50, 10}));
}

TEST(StageSplit, WithoutMarksThereAreNoStages) {
  EXPECT_EQ(SplitOneStep({}), (Stages{}));
  EXPECT_EQ(SplitOneStep({{99, MarkKind::kForwardBegin, 6},
                          {200, MarkKind::kForwardBegin, 8},
                          {150, MarkKind::kOptimizerStep, 7}}),
            (Stages{}));
}

TEST(StageSplit, AMissingStageIsPartOfTheOneBefore) {
  EXPECT_EQ(SplitOneStep({{140, MarkKind::kBackwardBegin, 7}}), (Stages{40, 0, 60, 0}));
  EXPECT_EQ(SplitOneStep({{110, MarkKind::kForwardBegin, 7}, {190, MarkKind::kOptimizerBegin, 7}}),
            (Stages{10, 80, 0, 10}));
}

// Micro-batches: forward and backward take turns, and each stage begins where it first begins.
TEST(StageSplit, TheEarliestMarkOfAKindCounts) {
  EXPECT_EQ(SplitOneStep({{100, MarkKind::kForwardBegin, 7},
                          {120, MarkKind::kBackwardBegin, 7},
                          {130, MarkKind::kForwardBegin, 7},
                          {150, MarkKind::kBackwardBegin, 7}}),
            (Stages{0, 20, 80, 0}));
}

TEST(StageSplit, StagesDoNotRunBackwards) {
  EXPECT_EQ(SplitOneStep({{120, MarkKind::kBackwardBegin, 7}, {150, MarkKind::kForwardBegin, 7}}),
            (Stages{50, 0, 50, 0}));
}

TEST(StageSplit, EachStepHasItsOwn) {
  const std::vector<StepSpan> spans = {{1, 0, 10}, {2, 10, 30}, {4, 40, 50}};
  std::vector<StepRecord> steps(3);
  SplitIntoStages(std::vector<Mark>{{4, MarkKind::kForwardBegin, 1},
                                    {35, MarkKind::kForwardBegin, 3},
                                    {40, MarkKind::kForwardBegin, 4}},
                  spans, &steps);
  EXPECT_EQ(steps[0].stage_ns, (Stages{4, 6, 0, 0}));
  EXPECT_EQ(steps[1].stage_ns, (Stages{}));
  EXPECT_EQ(steps[2].stage_ns, (Stages{0, 10, 0, 0}));
}

}  // namespace
}  // namespace eroica

#include "producers/import/pause_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint8_t kTraining = 0;
constexpr uint8_t kBackground = 1;

class PauseMarksTest : public testing::Test {
 protected:
  PauseMarksTest() : trace_(budget_) {
    trace_.lanes = {{"main", LaneKind::kTrainingThread}, {"saver", LaneKind::kHostThread}};
    for (int64_t step = 0; step < 4; ++step)
      trace_.marks.push_back({100 * step, MarkKind::kStepBegin, step});
  }
  std::vector<Mark> Appended() {
    const size_t steps = trace_.marks.size();
    marks_.AppendTo(&trace_);
    return {trace_.marks.begin() + static_cast<ptrdiff_t>(steps), trace_.marks.end()};
  }
  SortBudget budget_;
  RankTrace trace_;
  PauseMarks marks_;
};

TEST(PauseOfFunction, KnowsWhatSavesAndEvaluates) {
  EXPECT_EQ(PauseOfFunction("torch/serialization.py: save"), Pause::kCheckpoint);
  EXPECT_EQ(PauseOfFunction("/opt/lib/python3.11/site-packages/transformers/trainer.py: evaluate"),
            Pause::kEvaluation);
  EXPECT_EQ(PauseOfFunction("mytorch/serialization.py: save"), Pause::kNone);
  EXPECT_EQ(PauseOfFunction("torch/serialization.py: load"), Pause::kNone) << "data loaders do";
  EXPECT_EQ(PauseOfFunction("train.py: save"), Pause::kNone);
}

TEST_F(PauseMarksTest, TheOutermostFrameIsThePause) {
  marks_.Add(120, 130, kTraining, Pause::kCheckpoint);
  marks_.Add(110, 150, kTraining, Pause::kCheckpoint);
  marks_.Add(210, 230, kTraining, Pause::kEvaluation);
  EXPECT_THAT(
      Appended(),
      ElementsAre(Mark{110, MarkKind::kCheckpointBegin}, Mark{150, MarkKind::kCheckpointEnd},
                  Mark{210, MarkKind::kEvaluationBegin}, Mark{230, MarkKind::kEvaluationEnd}));
}

TEST_F(PauseMarksTest, WhatAnotherThreadSavesIsNoPause) {
  marks_.Add(110, 150, kBackground, Pause::kCheckpoint);
  EXPECT_THAT(Appended(), IsEmpty());
}

TEST_F(PauseMarksTest, WhatMostStepsDoIsPartOfTheStep) {
  for (int64_t step = 0; step < 3; ++step)
    marks_.Add(100 * step + 10, 100 * step + 50, kTraining, Pause::kCheckpoint);
  EXPECT_THAT(Appended(), IsEmpty());
}

}  // namespace
}  // namespace eroica

#include "stream_ops/summarize/step_pauses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;

constexpr Pause kNone = Pause::kNone;
constexpr Pause kCheckpoint = Pause::kCheckpoint;
constexpr Pause kEvaluation = Pause::kEvaluation;

// Of the steps [100, 200), [200, 300) and [320, 400).
std::vector<Pause> PausesOf(Pause before, const std::vector<Mark>& marks) {
  const std::vector<StepSpan> spans = {{7, 100, 200}, {8, 200, 300}, {9, 320, 400}};
  std::vector<StepRecord> steps(spans.size());
  NotePauses(before, marks, spans, &steps);
  std::vector<Pause> pauses;
  for (const StepRecord& step : steps) pauses.push_back(step.pause);
  return pauses;
}

TEST(StepPauses, WithoutMarksThePauseBeforeGoesOn) {
  EXPECT_THAT(PausesOf(kNone, {{150, MarkKind::kForwardBegin, 7}}),
              ElementsAre(kNone, kNone, kNone));
  EXPECT_THAT(PausesOf(kEvaluation, {}), ElementsAre(kEvaluation, kEvaluation, kEvaluation));
}

TEST(StepPauses, APartOfAStepIsEnough) {
  EXPECT_THAT(
      PausesOf(kNone, {{250, MarkKind::kCheckpointBegin, 8}, {260, MarkKind::kCheckpointEnd, 8}}),
      ElementsAre(kNone, kCheckpoint, kNone));
  EXPECT_THAT(
      PausesOf(kNone, {{299, MarkKind::kCheckpointBegin, 8}, {330, MarkKind::kCheckpointEnd, 9}}),
      ElementsAre(kNone, kCheckpoint, kCheckpoint));
}

TEST(StepPauses, BetweenTheStepsItIsNone) {
  EXPECT_THAT(PausesOf(kEvaluation, {{100, MarkKind::kEvaluationEnd, 6},
                                     {300, MarkKind::kEvaluationBegin, 8},
                                     {320, MarkKind::kEvaluationEnd, 8}}),
              ElementsAre(kNone, kNone, kNone));
}

}  // namespace
}  // namespace eroica

#include "ops/cli/window_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kTimeWindow = 1'000;

// Steps 0 to 5 of 100 ns each, from base on; windows of two steps.
EventBatch Steps(uint32_t rank, int64_t base) {
  EventBatch batch;
  batch.identity = {.job = JobId("job"), .rank = RankId(rank), .world_size = 2, .window_steps = 2};
  batch.functions = {{"f", FunctionClass::kGpuCompute}};
  batch.lanes = {{"main", LaneKind::kTrainingThread}};
  for (int64_t step = 0; step < 6; ++step) {
    batch.intervals.push_back(base + 100 * step, 90, 0, 0);
    batch.marks.push_back({base + 100 * step, MarkKind::kStepBegin, step});
    batch.marks.push_back({base + 100 * step + 95, MarkKind::kStepEnd, step});
  }
  return batch;
}

WindowSurvey Survey(std::optional<WantedWindow> window) {
  WindowSurvey survey(window, kTimeWindow);
  survey.Add(Steps(0, 0));
  survey.Add(Steps(1, 5'000));
  return survey;
}

TEST(WindowSurvey, AWindowOfStepsLastsToTheNextOneOnEachRanksClock) {
  EXPECT_THAT(Survey(WantedWindow{WindowKind::kSteps, 1}).Ranges(),
              ElementsAre(Pair(0, TimeRange{200, 400}), Pair(1, TimeRange{5'200, 5'400})));
}

TEST(WindowSurvey, TheLastOneEndsWithItsLastStep) {
  EXPECT_THAT(Survey(WantedWindow{WindowKind::kSteps, 2}).Ranges(),
              ElementsAre(Pair(0, TimeRange{400, 595}), Pair(1, TimeRange{5'400, 5'595})));
}

TEST(WindowSurvey, AStepThatIsOpenEndsWithTheEvents) {
  WindowSurvey survey(WantedWindow{WindowKind::kSteps, 2}, kTimeWindow);
  EventBatch batch = Steps(0, 0);
  batch.marks.pop_back();
  batch.marks.erase(batch.marks.end() - 2);
  survey.Add(batch);
  EXPECT_THAT(survey.Ranges(), ElementsAre(Pair(0, TimeRange{400, 591})));
}

TEST(WindowSurvey, WithoutAKindItIsOneOfTheJobs) {
  EXPECT_EQ(Survey(WantedWindow{std::nullopt, 1}).Ranges(),
            Survey(WantedWindow{WindowKind::kSteps, 1}).Ranges());
  WindowSurvey of_time(WantedWindow{std::nullopt, 5}, kTimeWindow);
  EventBatch batch = Steps(1, 5'800);
  batch.identity.window_steps = 0;
  of_time.Add(batch);
  EXPECT_THAT(of_time.Ranges(), ElementsAre(Pair(1, TimeRange{5'800, 6'000})));
}

TEST(WindowSurvey, WithoutAWindowItIsAllThatThereIs) {
  EXPECT_THAT(Survey(std::nullopt).Ranges(),
              ElementsAre(Pair(0, TimeRange{0, 596}), Pair(1, TimeRange{5'000, 5'596})));
}

TEST(WindowSurvey, RanksThatWereNotInItAreNotNamed) {
  EXPECT_THAT(Survey(WantedWindow{WindowKind::kSteps, 9}).Ranges(), IsEmpty());
  EXPECT_THAT(Survey(WantedWindow{WindowKind::kTime, 0}).Ranges(),
              ElementsAre(Pair(0, TimeRange{0, 596})));
  EXPECT_THAT(Survey(WantedWindow{WindowKind::kTime, INT64_MAX}).Ranges(), IsEmpty());
}

}  // namespace
}  // namespace eroica

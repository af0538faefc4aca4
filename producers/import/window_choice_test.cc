#include "producers/import/window_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace eroica {
namespace {

StepWindows Choose(const std::vector<int64_t>& steps, uint32_t wanted = 0) {
  SortBudget budget;
  RankTrace trace(budget);
  for (const int64_t step : steps)
    trace.marks.push_back({.time_ns = step, .kind = MarkKind::kStepBegin, .id = step});
  RankTrace* const traces[] = {&trace};
  return ChooseWindows(traces, wanted);
}

std::vector<int64_t> Steps(int64_t first, int64_t count, int64_t apart = 1) {
  std::vector<int64_t> steps;
  for (int64_t i = 0; i < count; ++i) steps.push_back(first + i * apart);
  return steps;
}

// How many steps lie in each window.
std::vector<int64_t> Sizes(const std::vector<int64_t>& steps, const StepWindows& windows) {
  std::vector<int64_t> sizes;
  int64_t last = -1;
  for (const int64_t step : steps) {
    const int64_t index = windows.IndexOf(step);
    if (index != last) sizes.push_back(0);
    last = index;
    ++sizes.back();
  }
  return sizes;
}

std::vector<int64_t> SizesOfChosen(const std::vector<int64_t>& steps) {
  return Sizes(steps, Choose(steps));
}

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;
using ::testing::SizeIs;

TEST(ChooseWindows, ShortTracesAreOneWindow) {
  EXPECT_THAT(SizesOfChosen(Steps(3, 8)), ElementsAre(8));
  EXPECT_THAT(SizesOfChosen(Steps(62, 5)), ElementsAre(5)) << "wherever their steps begin";
}

TEST(ChooseWindows, LongerOnesAreAFewOfEqualLength) {
  EXPECT_THAT(SizesOfChosen(Steps(3, 12)), ElementsAre(6, 6));
  EXPECT_THAT(SizesOfChosen(Steps(10, 48)), ElementsAre(12, 12, 12, 12));
  EXPECT_THAT(SizesOfChosen(Steps(1, 1'000)), SizeIs(16));
  EXPECT_THAT(SizesOfChosen(Steps(1, 1'000)), Each(Le(64)));
}

TEST(ChooseWindows, ASampleOfTheStepsIsOneWindow) {
  EXPECT_THAT(SizesOfChosen(Steps(23, 12, 100)), ElementsAre(12));
}

TEST(ChooseWindows, WhatIsAskedForBeginsWithTheFirstStep) {
  const std::vector<int64_t> steps = Steps(3, 8);
  EXPECT_THAT(Sizes(steps, Choose(steps, 4)), ElementsAre(4, 4));
  EXPECT_THAT(Sizes(steps, Choose(steps, 3)), ElementsAre(3, 3, 2));
}

TEST(ChooseWindows, WithoutStepsThereIsNoOffset) {
  EXPECT_EQ(Choose({}).offset, 0);
  EXPECT_EQ(Choose({}, 5).size, 5);
}

}  // namespace
}  // namespace eroica

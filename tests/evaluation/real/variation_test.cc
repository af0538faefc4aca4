#include "tests/evaluation/real/variation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ranks = std::vector<uint32_t>;

// Of so many ranks, `per_host` to a host, each with two steps.
RealJob JobOf(uint32_t ranks, uint32_t per_host) {
  RealJob job{.window_steps = {1, kWholeJob}};
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    EventBatch& batch = job.batches.emplace_back();
    batch.identity.rank = RankId{rank};
    batch.identity.host = per_host == 0 ? "" : "host" + std::to_string(rank / per_host);
    batch.marks = {{10, MarkKind::kStepBegin, 3}, {20, MarkKind::kStepBegin, 4}};
  }
  return job;
}

std::vector<Ranks> Choices(const RealJob& job, RecordedPart part) {
  std::vector<Ranks> choices;
  for (const Variation& variation : VariationsOf(job)) {
    if (variation.part == part && variation.window_steps == kWholeJob &&
        variation.step_marks == StepMarks::kKept)
      choices.push_back(variation.ranks);
  }
  return choices;
}

TEST(Variations, HalvesAreEverySecondRankOrNeighbors) {
  EXPECT_THAT(
      Choices(JobOf(8, 8), RecordedPart::kHalf),
      ElementsAre(Ranks{0, 2, 4, 6}, Ranks{1, 3, 5, 7}, Ranks{0, 1, 2, 3}, Ranks{4, 5, 6, 7}));
}

TEST(Variations, QuartersLikewise) {
  EXPECT_THAT(Choices(JobOf(8, 8), RecordedPart::kQuarter),
              ElementsAre(Ranks{0, 4}, Ranks{1, 5}, Ranks{2, 6}, Ranks{3, 7}, Ranks{0, 1},
                          Ranks{2, 3}, Ranks{4, 5}, Ranks{6, 7}));
}

TEST(Variations, OneOfEachHostOrOfEachTensorGroup) {
  RealJob job = JobOf(6, 3);
  EXPECT_THAT(Choices(job, RecordedPart::kOneOfEach),
              ElementsAre(Ranks{0, 3}, Ranks{1, 4}, Ranks{2, 5}));
  job.tensor = 2;
  EXPECT_THAT(Choices(job, RecordedPart::kOneOfEach), IsEmpty())
      << "each second rank of six is one half already";
  EXPECT_THAT(Choices(JobOf(6, 0), RecordedPart::kOneOfEach), IsEmpty()) << "hosts are unknown";
  EXPECT_THAT(Choices(JobOf(6, 1), RecordedPart::kOneOfEach), IsEmpty()) << "that is all ranks";
}

TEST(Variations, AnyRankMayBeMissing) {
  EXPECT_THAT(Choices(JobOf(5, 5), RecordedPart::kAllButOne),
              ElementsAre(Ranks{1, 2, 3, 4}, Ranks{0, 2, 3, 4}, Ranks{0, 1, 3, 4},
                          Ranks{0, 1, 2, 4}, Ranks{0, 1, 2, 3}));
}

TEST(Variations, AChoiceBelongsToOnePart) {
  std::set<Ranks> seen;
  for (const Variation& variation : NotEmpty(VariationsOf(JobOf(4, 4)))) {
    if (variation.window_steps != 1) continue;
    EXPECT_TRUE(seen.insert(variation.ranks).second);
    EXPECT_EQ(variation.part == RecordedPart::kAll, variation.ranks.size() == 4);
    EXPECT_NE(variation.part, RecordedPart::kOneOfEach) << "a quarter of four is one alone";
  }
  EXPECT_EQ(seen.size(), 1u + 4 + 4 + 4);
}

TEST(Variations, OneRankAloneHasNoParts) {
  const std::vector<Variation> variations = VariationsOf(JobOf(1, 1));
  EXPECT_TRUE(std::ranges::all_of(variations, [](const Variation& variation) {
    return variation.ranks == Ranks{0} && variation.part == RecordedPart::kAll;
  }));
}

TEST(Variations, EveryLengthOfWindowsWithEveryRecordingAndOnceWithoutMarks) {
  RealJob job = JobOf(2, 2);
  const size_t with_stacks = VariationsOf(job).size();
  EXPECT_EQ(with_stacks, 2u * (1 + 2) + 1);
  job.without_stacks = job.batches;
  const std::vector<Variation> variations = VariationsOf(job);
  EXPECT_EQ(variations.size(), with_stacks + 2);
  EXPECT_EQ(std::ranges::count(variations, false, &Variation::stacks), 2);
  EXPECT_EQ(variations.back().step_marks, StepMarks::kNone);
  job.imported.emplace();
  EXPECT_EQ(VariationsOf(job).back().step_marks, StepMarks::kOneStep);
}

TEST(Variations, WhatHasNoStepMarksCannotLoseThem) {
  RealJob job = JobOf(2, 2);
  for (EventBatch& batch : job.batches) batch.marks.clear();
  for (const Variation& variation : NotEmpty(VariationsOf(job)))
    EXPECT_EQ(variation.step_marks, StepMarks::kKept);
}

TEST(Variations, WindowsHaveNames) {
  EXPECT_EQ(WindowName(1), "1 step");
  EXPECT_EQ(WindowName(4), "4 steps");
  EXPECT_EQ(WindowName(kWholeJob), "whole");
}

}  // namespace
}  // namespace eroica

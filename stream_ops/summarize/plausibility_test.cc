#include "stream_ops/summarize/plausibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kNow = int64_t{1'000'000} * kSecond;
constexpr int64_t kHour = 3'600 * kSecond;

EventBatch At(int64_t time_ns) {
  return EventBatchBuilder(0, 0).Ran("f", time_ns - 1, time_ns).Build();
}
EventBatch StepAt(int64_t step, int64_t time_ns) {
  return EventBatchBuilder(0, 0).Marked(MarkKind::kStepBegin, step, time_ns).Build();
}

TEST(Plausibility, NothingIsMoreThanAnHourAheadOfTheClock) {
  const Plausibility job;
  EXPECT_EQ(job.Check(At(kNow + kHour), kNow), DropReason::kNone);
  EXPECT_EQ(job.Check(At(kNow + kHour + 1), kNow), DropReason::kAheadOfClock);
  EXPECT_EQ(job.Check(At(1), kNow), DropReason::kNone) << "a job of the past";
  EXPECT_EQ(job.Check(EventBatch{}, kNow), DropReason::kNone);
}

// By its end, its marks, its samples or its reports.
TEST(Plausibility, WhateverIsLatestInTheBatchCounts) {
  const Plausibility job;
  const int64_t far = kNow + 2 * kHour;
  EXPECT_EQ(job.Check(EventBatchBuilder(0, 0).Ran("f", 0, far).Ran("g", 1, 2).Build(), kNow),
            DropReason::kAheadOfClock);
  EXPECT_EQ(job.Check(StepAt(1, far), kNow), DropReason::kAheadOfClock);
  EXPECT_EQ(job.Check(EventBatchBuilder(0, 0).Sampled(Resource::kCpu, far, 0.5f).Build(), kNow),
            DropReason::kAheadOfClock);
  EXPECT_EQ(job.Check(EventBatchBuilder(0, 0).Reported(far, 1, "f").Build(), kNow),
            DropReason::kAheadOfClock);
}

TEST(Plausibility, NoRankIsMoreStepsAheadThanTheTimeHasRoomFor) {
  Plausibility job;
  EXPECT_EQ(job.Check(StepAt(500'000, kSecond), kNow), DropReason::kNone)
      << "a job that goes on from a checkpoint";
  job.Learn(StepAt(7, kSecond));
  EXPECT_EQ(job.Check(StepAt(1'007, kSecond), kNow), DropReason::kNone);
  EXPECT_EQ(job.Check(StepAt(1'008, kSecond), kNow), DropReason::kAheadOfSteps);
  EXPECT_EQ(job.Check(StepAt(11'007, 2 * kSecond), kNow), DropReason::kNone)
      << "after a second in which nothing was recorded";
  EXPECT_EQ(job.Check(StepAt(11'008, 2 * kSecond), kNow), DropReason::kAheadOfSteps);
  EXPECT_EQ(job.Check(StepAt(std::numeric_limits<int64_t>::max(), kNow), kNow),
            DropReason::kAheadOfSteps);
  EXPECT_EQ(job.Check(StepAt(0, kSecond), kNow), DropReason::kNone) << "a job that begins anew";
}

// Two ranks; the second says once what cannot be. Steps or clock: the windows come out as if it
// had not, and the record is with the dead letters.
TEST(Plausibility, OneRecordFromTheFutureCostsNothing) {
  const auto windows_of = [](const std::vector<EventBatch>& between) {
    SummarizeHarness harness({.out_of_orderness_ns = 0, .wall_clock_ns = [] { return kNow; }});
    uint64_t sequence[2] = {0, 0};
    for (int64_t second = 0; second < 60; ++second) {
      for (uint32_t rank = 0; rank < 2; ++rank) {
        harness.Process(EventBatchBuilder(rank, sequence[rank]++)
                            .Ran("f", second * kSecond, (second + 1) * kSecond)
                            .Marked(MarkKind::kStepBegin, second, second * kSecond)
                            .Build());
      }
      if (second == 20) {
        for (const EventBatch& batch : between) harness.Process(batch);
      }
    }
    harness.Punctuate(PunctuationType::kEndOfInput);
    return std::pair(harness.patterns(), harness.dead_letters());
  };
  const auto [expected, no_letters] = windows_of({});
  EXPECT_EQ(expected.size(), 12u);
  EXPECT_TRUE(no_letters.empty());
  EventBatch far_clock = EventBatchBuilder(1, 1'000).Ran("f", 0, 2 * kNow).Build();
  EventBatch far_step =
      EventBatchBuilder(1, 1'001).Marked(MarkKind::kStepBegin, 1'000'000, 21 * kSecond).Build();
  const auto [windows, letters] = windows_of({far_clock, far_step});
  EXPECT_EQ(windows, expected);
  EXPECT_THAT(letters, ElementsAre(DropReason::kAheadOfClock, DropReason::kAheadOfSteps));
}

}  // namespace
}  // namespace eroica

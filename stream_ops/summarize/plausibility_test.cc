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

// Of a rank's first batch.
DropReason First(Plausibility* job, const EventBatch& batch) {
  return job->Check(batch, kNow, std::nullopt);
}

TEST(Plausibility, NothingIsMoreThanAnHourAheadOfTheClock) {
  Plausibility job;
  EXPECT_EQ(First(&job, At(kNow + kHour)), DropReason::kNone);
  EXPECT_EQ(First(&job, At(kNow + kHour + 1)), DropReason::kAheadOfClock);
  EXPECT_EQ(First(&job, At(1)), DropReason::kNone) << "a job of the past";
  EXPECT_EQ(First(&job, EventBatch{}), DropReason::kNone);
}

// By its end, its marks, its samples or its reports.
TEST(Plausibility, WhateverIsLatestInTheBatchCounts) {
  Plausibility job;
  const int64_t far = kNow + 2 * kHour;
  EXPECT_EQ(First(&job, EventBatchBuilder(0, 0).Ran("f", 0, far).Ran("g", 1, 2).Build()),
            DropReason::kAheadOfClock);
  EXPECT_EQ(First(&job, StepAt(1, far)), DropReason::kAheadOfClock);
  EXPECT_EQ(First(&job, EventBatchBuilder(0, 0).Sampled(Resource::kCpu, far, 0.5f).Build()),
            DropReason::kAheadOfClock);
  EXPECT_EQ(First(&job, EventBatchBuilder(0, 0).Reported(far, 1, "f").Build()),
            DropReason::kAheadOfClock);
}

// Its clock is synchronized, as those of most hosts are.
TEST(Plausibility, ALeapAheadOfTheClockIsRefusedUntilAnotherBatchConfirmsIt) {
  Plausibility job;
  const int64_t leap = Plausibility::kMostLeapNs;
  const auto check = [&](uint64_t sequence, int64_t time_ns) {
    return job.Check(EventBatchBuilder(0, sequence).Ran("f", time_ns - 1, time_ns).Build(), kNow,
                     kNow - kSecond);
  };
  EXPECT_EQ(check(0, kNow + leap), DropReason::kNone);
  EXPECT_EQ(check(1, kNow + leap + 1), DropReason::kAheadOfClock);
  EXPECT_EQ(check(1, kNow + leap + 1), DropReason::kAheadOfClock) << "the same, sent twice";
  EXPECT_EQ(check(2, kNow), DropReason::kNone);
  EXPECT_EQ(check(3, kNow + 2 * leap), DropReason::kAheadOfClock) << "the second mistake";
  EXPECT_EQ(check(4, kNow + 2 * leap), DropReason::kNone) << "its clock was set";
  EXPECT_EQ(check(5, kNow + kHour + 1), DropReason::kAheadOfClock);
  EXPECT_EQ(check(6, kNow + kHour + 1), DropReason::kAheadOfClock) << "whoever confirms it";
}

TEST(Plausibility, ARankWhoseClockIsAheadGoesOnFromWhereItIs) {
  Plausibility job;
  const int64_t ahead = kNow + kHour / 2;
  EXPECT_EQ(First(&job, At(ahead)), DropReason::kNone) << "its first";
  EXPECT_EQ(job.Check(At(ahead + kSecond), kNow + kSecond, ahead), DropReason::kNone);
  EXPECT_EQ(job.Check(At(kNow), kNow, int64_t{0}), DropReason::kNone) << "after a long silence";
}

TEST(Plausibility, NoRankIsMoreStepsAheadThanTheTimeHasRoomFor) {
  Plausibility job;
  EXPECT_EQ(First(&job, StepAt(500'000, kSecond)), DropReason::kNone)
      << "a job that goes on from a checkpoint";
  job.Learn(StepAt(7, kSecond));
  EXPECT_EQ(First(&job, StepAt(1'007, kSecond)), DropReason::kNone);
  EXPECT_EQ(First(&job, StepAt(1'008, kSecond)), DropReason::kAheadOfSteps);
  EXPECT_EQ(First(&job, StepAt(11'007, 2 * kSecond)), DropReason::kNone)
      << "after a second in which nothing was recorded";
  EXPECT_EQ(First(&job, StepAt(11'008, 2 * kSecond)), DropReason::kAheadOfSteps);
  EXPECT_EQ(First(&job, StepAt(std::numeric_limits<int64_t>::max(), kNow)),
            DropReason::kAheadOfSteps);
  EXPECT_EQ(First(&job, StepAt(0, kSecond)), DropReason::kNone) << "a job that begins anew";
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

// What rank 1 says of a running job in each second of a minute, by its own clock.
class RunningJob {
 public:
  void Say(int64_t second, int64_t clock_ahead_ns) {
    now_ns_ = kNow + second * kSecond;
    const int64_t end_ns = now_ns_ + clock_ahead_ns;
    harness_.Process(EventBatchBuilder(1, sequence_++).Ran("f", end_ns - kSecond, end_ns).Build());
  }
  // Ends it. How many events its windows hold, and how many are late for theirs.
  std::pair<uint64_t, uint64_t> EventsAndLate() {
    harness_.Punctuate(PunctuationType::kEndOfInput);
    uint64_t events = 0;
    for (const PatternBatch& batch : harness_.patterns()) events += batch.completeness.events;
    return {events, harness_.processor().probe().events_late};
  }
  const std::vector<DropReason>& dead_letters() const { return harness_.dead_letters(); }

 private:
  int64_t now_ns_ = 0;
  uint64_t sequence_ = 0;
  SummarizeHarness harness_{{.wall_clock_ns = [this] { return now_ns_; }}};
};

TEST(Plausibility, OneBatchHalfAnHourAheadClosesNoWindow) {
  RunningJob job;
  for (int64_t second = 0; second < 60; ++second) job.Say(second, second == 20 ? kHour / 2 : 0);
  EXPECT_THAT(job.dead_letters(), ElementsAre(DropReason::kAheadOfClock));
  EXPECT_EQ(job.EventsAndLate(), (std::pair<uint64_t, uint64_t>{59, 0}));
}

TEST(Plausibility, AClockThatIsSetForwardCostsOneBatch) {
  RunningJob job;
  for (int64_t second = 0; second < 60; ++second) job.Say(second, second < 20 ? 0 : kHour / 2);
  EXPECT_THAT(job.dead_letters(), ElementsAre(DropReason::kAheadOfClock));
  EXPECT_EQ(job.EventsAndLate(), (std::pair<uint64_t, uint64_t>{59, 0}));
}

// What it says again of windows that are closed is late, and counted; then it goes on.
TEST(Plausibility, AClockThatIsSetBackCostsWhatItSaysTwice) {
  RunningJob job;
  for (int64_t second = 0; second < 60; ++second) job.Say(second, second < 30 ? 0 : -20 * kSecond);
  EXPECT_TRUE(job.dead_letters().empty());
  const auto [events, late] = job.EventsAndLate();
  EXPECT_EQ(events + late, 60u);
  EXPECT_GT(late, 0u);
  EXPECT_LT(late, 20u);
}

}  // namespace
}  // namespace eroica

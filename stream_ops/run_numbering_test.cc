#include "stream_ops/run_numbering.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "schemas/codec.h"

namespace eroica {
namespace {

constexpr int64_t kSteps = 8;
constexpr int64_t kSecond = 1'000'000'000;

// A job whose ranks run windows of eight steps, a second each, from a moment on.
Window StepWindow(int64_t index, int64_t run_start_s, int64_t skew_s = 0) {
  const int64_t start_ns = (run_start_s + index + skew_s) * kSecond;
  return {.kind = WindowKind::kSteps,
          .index = index,
          .start_ns = start_ns,
          .end_ns = start_ns + kSecond,
          .first_step = index * kSteps,
          .last_step = index * kSteps + kSteps - 1};
}

// The window as a rank that stands in a step of it reports it at that moment.
Window OpenWindow(int64_t index, int64_t step, int64_t at_s) {
  return {.kind = WindowKind::kSteps,
          .index = index,
          .start_ns = at_s * kSecond,
          .end_ns = at_s * kSecond,
          .first_step = step,
          .last_step = step};
}

class RunNumberingTest : public ::testing::Test {
 protected:
  std::optional<int64_t> Number(int rank, const Window& window) {
    return runs_.NumberOf(window, places_[rank]);
  }
  // Windows [0, count) of ranks 0 and 1.
  void Run(int64_t count, int64_t start_s, int64_t first_number) {
    for (int64_t index = 0; index < count; ++index) {
      for (int rank = 0; rank < 2; ++rank)
        EXPECT_EQ(Number(rank, StepWindow(index, start_s)), first_number + index);
      runs_.Close(first_number + index);
    }
  }

  RunNumbering runs_;
  std::map<int, RunPlace> places_;
};

TEST_F(RunNumberingTest, TheFirstRunHasItsIndices) {
  Run(5, 100, 0);
  EXPECT_EQ(runs_.newest_run(), 0u);
  const Window time{.kind = WindowKind::kTime, .index = 7, .start_ns = 70, .end_ns = 80};
  EXPECT_EQ(Number(3, time), 7);
}

TEST_F(RunNumberingTest, RunsCountOnOneAfterTheOther) {
  Run(5, 100, 0);
  Run(3, 200, 5);
  Run(9, 300, 8);
  EXPECT_EQ(runs_.newest_run(), 2u);
  EXPECT_EQ(runs_.RunOf(4), 0u);
  EXPECT_EQ(runs_.RunOf(5), 1u);
  EXPECT_EQ(runs_.RunOf(8), 2u);
}

TEST_F(RunNumberingTest, WhatIsSentAgainBeginsNoRun) {
  Run(5, 100, 0);
  for (int64_t index = 0; index < 5; ++index) EXPECT_EQ(Number(0, StepWindow(index, 100)), index);
  EXPECT_EQ(runs_.newest_run(), 0u);
}

// Of a job that stood still: a step that did not end.
TEST_F(RunNumberingTest, AWindowWithoutLengthBeginsNoRunWhenItIsSentAgain) {
  Run(5, 100, 0);
  Window begun = StepWindow(5, 100);
  begun.end_ns = begun.start_ns;
  begun.last_step = begun.first_step;
  EXPECT_EQ(Number(0, begun), 5);
  EXPECT_EQ(Number(0, begun), 5);
  runs_.Close(5);
  RunPlace after_a_restart;
  EXPECT_EQ(runs_.NumberOf(begun, after_a_restart), 5);
  EXPECT_EQ(runs_.newest_run(), 0u);
}

TEST_F(RunNumberingTest, WhatIsLateOfTheRunBeforeIsLate) {
  Run(5, 100, 0);
  Run(2, 200, 5);
  EXPECT_EQ(Number(0, StepWindow(4, 100)), std::nullopt);
  EXPECT_EQ(Number(0, StepWindow(2, 200)), 7);
  EXPECT_EQ(runs_.newest_run(), 1u);
}

// EROICA_FIRST_STEP: the process that takes a rank over in the middle of a window.
TEST_F(RunNumberingTest, AProcessThatGoesOnIsOfTheSameRun) {
  Run(5, 100, 0);
  Window begun = StepWindow(5, 100);
  begun.last_step = 42;
  begun.end_ns -= kSecond / 2;
  EXPECT_EQ(Number(0, begun), 5);
  Window rest = StepWindow(5, 110);
  rest.first_step = 43;
  EXPECT_EQ(Number(0, rest), 5);
  EXPECT_EQ(Number(0, StepWindow(6, 110)), 6);
  EXPECT_EQ(runs_.newest_run(), 0u);
}

// From a checkpoint: steps 24 and on come a second time.
TEST_F(RunNumberingTest, ARunFromACheckpointLeavesNoGap) {
  Run(5, 100, 0);
  EXPECT_EQ(Number(0, StepWindow(3, 200)), 5);
  EXPECT_EQ(Number(1, StepWindow(3, 200)), 5);
  EXPECT_EQ(Number(1, StepWindow(4, 200)), 6);
}

TEST_F(RunNumberingTest, ARankThatMissedARunJoinsTheOneThatGoesOn) {
  Run(5, 100, 0);
  EXPECT_EQ(Number(0, StepWindow(0, 200)), 5);  // a run that rank 1 never got to
  EXPECT_EQ(Number(1, StepWindow(0, 300)), 6);  // and is the first in the next one
  EXPECT_EQ(Number(0, StepWindow(0, 300)), 6);
  EXPECT_EQ(Number(0, StepWindow(1, 300)), 7);
  EXPECT_EQ(Number(1, StepWindow(1, 300)), 7);
}

TEST_F(RunNumberingTest, TheEndOfARunThatComesAfterTheNextHasBegunIsLate) {
  Run(5, 100, 0);
  EXPECT_EQ(Number(0, StepWindow(0, 200)), 5);
  EXPECT_EQ(Number(1, StepWindow(5, 100)), std::nullopt);
  EXPECT_EQ(Number(1, StepWindow(0, 200)), 5);
}

// One rank is started again, and counts from 0; the others went on meanwhile.
TEST_F(RunNumberingTest, ARankThatComesBackAloneMeetsTheWindowsOfTheOthers) {
  Run(5, 100, 0);
  Window back = StepWindow(0, 105);
  ++back.start_ns;
  EXPECT_EQ(Number(1, back), 5);
  EXPECT_EQ(Number(0, StepWindow(5, 100)), 5);
  EXPECT_EQ(Number(0, StepWindow(6, 100)), 6);
  EXPECT_EQ(Number(1, StepWindow(1, 105)), 6);
}

TEST_F(RunNumberingTest, ClocksOfHostsMayBeAnHourApart) {
  constexpr int64_t kHour = 3600;
  for (const int64_t start_s : {10'000, 10'100, 10'200}) {
    const int64_t first = *Number(0, StepWindow(0, start_s));
    EXPECT_EQ(Number(1, StepWindow(0, start_s, kHour)), first);
    EXPECT_EQ(Number(2, StepWindow(0, start_s, -kHour)), first);
    for (int64_t index = 1; index < 4; ++index) {
      for (const int rank : {2, 1, 0}) {
        const int64_t skew_s = rank == 0 ? 0 : rank == 1 ? kHour : -kHour;
        EXPECT_EQ(Number(rank, StepWindow(index, start_s, skew_s)), first + index);
      }
      runs_.Close(first + index);
    }
  }
  EXPECT_EQ(runs_.newest_run(), 2u);
}

TEST_F(RunNumberingTest, ARankThatIsNewToTheJobComesIntoTheNewestRun) {
  Run(5, 100, 0);
  Run(2, 200, 5);
  EXPECT_EQ(Number(7, StepWindow(2, 200)), 7);
  EXPECT_EQ(Number(8, StepWindow(0, 300)), 8);  // and may be the first in the next one
}

TEST_F(RunNumberingTest, WithoutAPlaceWhatIsClosedIsKnownByTheStore) {
  Run(5, 100, 0);
  Run(3, 200, 5);
  RunNumbering restored;
  ASSERT_TRUE(restored.Restore(runs_.Encode()));
  restored.Close(6);
  RunPlace again;
  EXPECT_EQ(restored.NumberOf(StepWindow(1, 200), again), 6);  // closed; read again
  EXPECT_EQ(restored.NumberOf(StepWindow(2, 200), again), 7);
  RunPlace of_first;
  EXPECT_EQ(restored.NumberOf(StepWindow(4, 100), of_first), 4);
  RunPlace of_next;
  EXPECT_EQ(restored.NumberOf(StepWindow(0, 300), of_next), 8);
  EXPECT_EQ(restored.newest_run(), 2u);
}

TEST_F(RunNumberingTest, NobodyButARankBeginsARun) {
  Run(5, 100, 0);
  RunPlace communicator;
  EXPECT_EQ(runs_.NumberOf(StepWindow(0, 200), communicator, /*may_begin=*/false), std::nullopt);
  EXPECT_EQ(Number(0, StepWindow(0, 200)), 5);
  EXPECT_EQ(runs_.NumberOf(StepWindow(0, 200), communicator, /*may_begin=*/false), 5);
}

TEST_F(RunNumberingTest, ARankThatStandsInItsFirstWindowHasBegunARun) {
  Run(5, 100, 0);
  const Window open = OpenWindow(0, 3, 204);
  EXPECT_EQ(runs_.NumberOfOpen(open, places_[0]), 5);
  EXPECT_EQ(runs_.NumberOfOpen(open, places_[1]), 5);
  EXPECT_EQ(runs_.newest_run(), 1u);
  EXPECT_EQ(Number(0, StepWindow(0, 200)), 5);  // it went on after all
  EXPECT_EQ(Number(1, StepWindow(0, 200)), 5);
  EXPECT_EQ(runs_.newest_run(), 1u);
}

TEST_F(RunNumberingTest, AStandingRankThatHasMovedOnSinceBeginsNone) {
  Run(5, 100, 0);
  const Window open = OpenWindow(2, 16, 102);
  EXPECT_EQ(runs_.NumberOfOpen(open, places_[0]), 2);
  EXPECT_EQ(runs_.newest_run(), 0u);
}

TEST_F(RunNumberingTest, ARankThatStandsInTheLastStepOfItsNewestWindowBeginsNone) {
  Run(5, 100, 0);
  const Window open = OpenWindow(4, 39, 130);
  EXPECT_EQ(runs_.NumberOfOpen(open, places_[0]), 4);
  EXPECT_EQ(runs_.newest_run(), 0u);
}

TEST_F(RunNumberingTest, ManyRunsAreBoundedAndCountOn) {
  for (int64_t run = 0; run < 100; ++run) Run(2, 100 + 10 * run, 2 * run);
  EXPECT_EQ(runs_.newest_run(), 99u);
  EXPECT_LE(runs_.Encode().size(), 16 + 40 * RunNumbering::kMostRuns);
}

TEST_F(RunNumberingTest, AnIndexThatNoJobReachesIsNoWindow) {
  Run(2, 100, 0);
  Window far = StepWindow(0, 200);
  for (const int64_t index : {-CodecLimits::kMaxTimeNs, int64_t{-1}, CodecLimits::kMaxTimeNs}) {
    far.index = index;
    EXPECT_EQ(Number(0, far), std::nullopt);
    EXPECT_EQ(runs_.NumberOfOpen(far, places_[0]), std::nullopt);
  }
  EXPECT_EQ(Number(0, StepWindow(2, 100)), 2);
}

TEST(RunNumberingRow, ADamagedOneIsRefused) {
  RunNumbering runs;
  RunPlace place;
  runs.NumberOf(StepWindow(0, 100), place);
  const std::string row = runs.Encode();
  for (size_t size = 0; size < row.size(); ++size) {
    if (size == 16) continue;  // no run yet
    EXPECT_FALSE(RunNumbering().Restore(row.substr(0, size))) << size;
  }
  EXPECT_TRUE(RunNumbering().Restore(row));
}

}  // namespace
}  // namespace eroica

#include "producers/python/stack_attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Piece = std::tuple<int64_t, int64_t, uint32_t>;

constexpr ThreadState kRuns = ThreadState::kRunning;
constexpr ThreadState kBlocked = ThreadState::kInSystemCall;

class StackAttributionTest : public ::testing::Test {
 protected:
  // At a boundary the thread has run for ran_ms so far, and waited for a processor for waited_ms.
  void Pass(int64_t time_ms, int64_t ran_ms, int64_t waited_ms = 0,
            BoundaryKind kind = BoundaryKind::kStep, bool covered = false) {
    attribution_.Pass({.time_ns = time_ms * kNsPerMs,
                       .times = RunTimes{ran_ms * kNsPerMs, waited_ms * kNsPerMs},
                       .kind = kind,

                       .in_collective = covered});
  }
  void Sample(int64_t time_ms, uint32_t leaf, ThreadState state) {
    attribution_.Sample({.time_ns = time_ms * kNsPerMs, .leaf = leaf, .state = state});
  }
  void Block(int64_t begin_ms, int64_t end_ms) {
    attribution_.Switch({.time_ns = begin_ms * kNsPerMs, .kind = ThreadSwitch::Kind::kBlocked});
    attribution_.Switch({.time_ns = end_ms * kNsPerMs, .kind = ThreadSwitch::Kind::kRuns});
  }
  std::map<uint32_t, int64_t> MsByLeaf() const {
    std::map<uint32_t, int64_t> ms;
    for (const auto& [start_ns, end_ns, leaf] : pieces_) ms[leaf] += (end_ns - start_ns) / kNsPerMs;
    return ms;
  }
  int64_t WaitedMs() const {
    int64_t ns = 0;
    for (const auto& [start_ns, end_ns, leaf] : waits_) ns += end_ns - start_ns;
    return ns / kNsPerMs;
  }

  std::vector<Piece> pieces_;
  std::vector<Piece> waits_;
  std::map<uint32_t, int64_t> waited_ms_;  // by function
  StackAttribution attribution_{
      [this](int64_t start, int64_t end, uint32_t leaf) { pieces_.emplace_back(start, end, leaf); },
      [this](int64_t start, int64_t end) { waits_.emplace_back(start, end, 0); },
      [this](int64_t start, int64_t end, uint32_t leaf) {
        waited_ms_[leaf] += (end - start) / kNsPerMs;
      }};
};

TEST_F(StackAttributionTest, BlockedTimeBelongsToTheStackThatWasSeenBlocked) {
  Pass(1, 10);
  Sample(3, 1, kRuns);
  Sample(20, 2, kBlocked);
  Pass(51, 30);  // ran 20 ms of 50
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(1 * kNsPerMs, 31 * kNsPerMs, 2),
                                   Piece(31 * kNsPerMs, 51 * kNsPerMs, 1)));
}

// On a busy host most of a step is waited for a processor; who sleeps waits for none.
TEST_F(StackAttributionTest, WaitsForAProcessorTakeNothingFromWhatSleeps) {
  Pass(1, 10);
  Sample(3, 1, kRuns);
  Sample(20, 2, kBlocked);
  Pass(71, 30, 20);
  attribution_.Finish();
  EXPECT_EQ(MsByLeaf()[2], 30);
  EXPECT_EQ(WaitedMs(), 20);
  EXPECT_EQ(waited_ms_[1], 20) << "passed in what was not blocked";
  EXPECT_FALSE(waited_ms_.contains(2));
  for (const auto& [start_ns, end_ns, leaf] : waits_) EXPECT_GE(start_ns, 31 * kNsPerMs) << leaf;
}

// A receive of MPI spins until a message comes: on a busy host it is mostly not let run.
TEST_F(StackAttributionTest, WaitsForAProcessorInsideAnotherWaitAreThatWaits) {
  for (const bool in_collective : {false, true}) {
    waits_.clear();
    const int64_t begin_ms = in_collective ? 201 : 1;
    attribution_.Pass({.time_ns = begin_ms * kNsPerMs,
                       .times = RunTimes{10 * kNsPerMs, 0},
                       .inside = 7,
                       .in_covered = true,
                       .in_collective = in_collective});
    Pass(begin_ms + 100, 20, 90);
    attribution_.Finish();
    EXPECT_EQ(WaitedMs(), in_collective ? 90 : 0);
    EXPECT_THAT(waited_ms_, IsEmpty());
  }
}

TEST_F(StackAttributionTest, HowLongWhatSleepsWaitsWhenItWakesUpIsNotGuessed) {
  Pass(1, 10);
  Sample(20, 2, kBlocked);
  Sample(32, 2, kRuns);
  Pass(51, 20, 10);
  attribution_.Finish();
  EXPECT_EQ(WaitedMs(), 10);
  EXPECT_THAT(waited_ms_, IsEmpty());
}

TEST_F(StackAttributionTest, AStretchWithoutASampleHasWhatWasSeenInOneOfItsKind) {
  for (int64_t step = 0; step < 3; ++step) {
    Pass(1 + 100 * step, 10 + 60 * step, 0, BoundaryKind::kStep);
    if (step == 0) Sample(5, 1, kRuns);
    if (step == 0) Sample(20, 2, kBlocked);
    Pass(51 + 100 * step, 30 + 60 * step, 0, BoundaryKind::kMark);
    if (step == 1) Sample(175, 3, kRuns);
    Pass(101 + 100 * step, 70 + 60 * step, 0, BoundaryKind::kOptimizer);
  }
  attribution_.Finish();
  EXPECT_EQ(MsByLeaf()[2], 90) << "30 ms in each of three steps, by one sample";
}

// Short stretches, as between the messages of a pipeline: one sample must not decide over all.
TEST_F(StackAttributionTest, StretchesWithoutASampleAreSharedOutToTheNewestSamples) {
  for (int64_t stretch = 0; stretch < 104; ++stretch) {
    Pass(1 + 8 * stretch, 1 + 8 * stretch);
    if (stretch < 4) Sample(5 + 8 * stretch, stretch == 3 ? 2 : 1, kRuns);
  }
  Pass(1 + 8 * 104, 1 + 8 * 104);
  attribution_.Finish();
  EXPECT_EQ(MsByLeaf()[1], 24 + 600);
  EXPECT_EQ(MsByLeaf()[2], 8 + 200);
}

// A step of 78 ms with a sleep of 30 ms and samples ten times a second, as on a busy host.
TEST_F(StackAttributionTest, ASleepIsToldWithinTwentiethsByFewSamples) {
  std::mt19937 random(7);
  constexpr int64_t kSteps = 200, kStepMs = 78, kSleepMs = 30, kSleepAtMs = 10, kBatchMs = 5;
  int64_t next_ms = 1, ran_ms = 1, waited_ms = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    const int64_t begin_ms = 1 + step * kStepMs;
    Pass(begin_ms, ran_ms, waited_ms, BoundaryKind::kBatch);
    const auto sample_until = [&](int64_t end_ms) {
      while (next_ms < end_ms) {
        const int64_t at_ms = next_ms - begin_ms;
        const bool sleeps = at_ms >= kSleepAtMs && at_ms < kSleepAtMs + kSleepMs;
        const bool is_batch = at_ms < kBatchMs;
        Sample(next_ms, sleeps ? 2u : is_batch ? 3u : 1u, sleeps ? kBlocked : kRuns);
        next_ms += 50 + static_cast<int64_t>(random() % 100);
      }
    };
    sample_until(begin_ms + kBatchMs);
    Pass(begin_ms + kBatchMs, ran_ms += kBatchMs, waited_ms, BoundaryKind::kMark);
    sample_until(begin_ms + kStepMs);
    ran_ms += 20;
    waited_ms += kStepMs - kBatchMs - kSleepMs - 20;
  }
  Pass(1 + kSteps * kStepMs, ran_ms, waited_ms);
  attribution_.Finish();
  EXPECT_NEAR(static_cast<double>(MsByLeaf()[2]) / kSteps, kSleepMs, 0.05 * kSleepMs);
}

// A sampler that waits for a processor itself sees the long block only: while the short ones last,
// others run.
TEST_F(StackAttributionTest, ABlockThatIsKnownHasItsOwnLength) {
  constexpr int64_t kSteps = 20, kStepMs = 100, kShort = 10;
  for (int64_t step = 0; step < kSteps; ++step) {
    const int64_t begin_ms = 1 + step * kStepMs;
    Pass(begin_ms, 1 + step * 50);
    if (step == 0) Block(begin_ms, begin_ms + 1);  // switches are seen from here on
    Sample(begin_ms + 2, 1, kRuns);
    Block(begin_ms + 10, begin_ms + 40);
    if (step % 2 == 1) Sample(begin_ms + 25, 2, kBlocked);
    for (int64_t i = 0; i < kShort; ++i) Block(begin_ms + 50 + 5 * i, begin_ms + 52 + 5 * i);
    if (step == 3) Sample(begin_ms + 51, 3, kBlocked);
  }
  Pass(1 + kSteps * kStepMs, 1 + kSteps * 50);
  attribution_.Finish();
  // The first stretch is not whole: its 50 ms are those of what runs, the only stack in it. The
  // short blocks of the three stretches until one is seen are those of what runs, too.
  EXPECT_EQ(MsByLeaf()[2], (kSteps - 1) * 30);
  EXPECT_EQ(MsByLeaf()[3], (kSteps - 3) * 20);
}

TEST_F(StackAttributionTest, WhereTheKernelDoesNotCountBlocksSayWhatWasBlocked) {
  Block(0, 1);
  attribution_.Pass({.time_ns = 1 * kNsPerMs});
  attribution_.Pass({.time_ns = 2 * kNsPerMs});
  Sample(3, 1, kRuns);
  Sample(20, 2, kBlocked);
  Block(12, 42);
  attribution_.Pass({.time_ns = 52 * kNsPerMs});
  attribution_.Finish();
  EXPECT_EQ(MsByLeaf()[2], 30);
  EXPECT_EQ(MsByLeaf()[1], 20);
}

// Of 40 ms that a sleep of 30 lasted the thread waited 10 for a processor when it woke up, and 5
// when another one took its own from it.
TEST_F(StackAttributionTest, HowLongWhatSleepsWaitsWhenItWakesUpPassesInIt) {
  Block(0, 1);
  Pass(1, 10);
  Pass(2, 11);
  Sample(3, 1, kRuns);
  Block(12, 52);
  Sample(20, 2, kBlocked);
  attribution_.Switch({.time_ns = 60 * kNsPerMs, .kind = ThreadSwitch::Kind::kPreempted});
  attribution_.Switch({.time_ns = 65 * kNsPerMs, .kind = ThreadSwitch::Kind::kRuns});
  Pass(72, 36, 15);
  attribution_.Finish();
  EXPECT_EQ(MsByLeaf()[2], 30);
  EXPECT_EQ(MsByLeaf()[1], 40);
  EXPECT_EQ(WaitedMs(), 15);
  EXPECT_EQ(waited_ms_[1], 5);
  EXPECT_EQ(waited_ms_[2], 10);
}

TEST_F(StackAttributionTest, ASampleInABlockIsOfItThoughTheThreadRunsWhenItIsLookedAt) {
  Block(0, 1);
  Pass(1, 10);
  Pass(2, 11);
  Sample(3, 1, kRuns);
  Sample(41, 2, kRuns);
  Block(12, 42);
  Pass(52, 31);
  attribution_.Finish();
  EXPECT_EQ(MsByLeaf()[2], 30);
  EXPECT_EQ(MsByLeaf()[1], 20);
}

TEST_F(StackAttributionTest, WhatACollectiveCoversIsNoFunctions) {
  Pass(1, 10);
  Sample(5, 1, kRuns);
  Pass(11, 20, 0, BoundaryKind::kCollectiveBegin, true);
  Sample(20, 2, kBlocked);
  Pass(31, 20, 0, BoundaryKind::kCollectiveEnd);
  Sample(35, 1, kRuns);
  Pass(41, 30);
  attribution_.Finish();
  EXPECT_THAT(pieces_, ElementsAre(Piece(1 * kNsPerMs, 11 * kNsPerMs, 1),
                                   Piece(31 * kNsPerMs, 41 * kNsPerMs, 1)));
}

TEST_F(StackAttributionTest, WhereTheKernelDoesNotCountEachSampleHasItsShare) {
  attribution_.Pass({.time_ns = 0});
  Sample(5, 1, kRuns);
  Sample(15, 2, kBlocked);
  attribution_.Pass({.time_ns = 20 * kNsPerMs});
  attribution_.Finish();
  EXPECT_THAT(pieces_,
              ElementsAre(Piece(0, 10 * kNsPerMs, 1), Piece(10 * kNsPerMs, 20 * kNsPerMs, 2)));
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(StackAttributionTest, LongStretchesAreCutAndHaveNoHoles) {
  Pass(0, 1);
  for (int64_t ms = 10; ms <= 220; ms += 20) {
    Sample(ms, 3, kRuns);
    if (attribution_.IsLong(ms * kNsPerMs))
      attribution_.Cut(ms * kNsPerMs, RunTimes{(1 + ms) * kNsPerMs, 0});
  }
  attribution_.Finish();
  ASSERT_THAT(pieces_, testing::SizeIs(3));
  EXPECT_EQ(std::get<0>(pieces_.front()), 0);
  for (size_t i = 1; i < pieces_.size(); ++i)
    EXPECT_EQ(std::get<0>(pieces_[i]), std::get<1>(pieces_[i - 1]));
  EXPECT_EQ(std::get<1>(pieces_.back()), 210 * kNsPerMs);
}

TEST_F(StackAttributionTest, RegionsOfMicrosecondsAreNoPieces) {
  for (int64_t i = 0; i < 1'000; ++i) {
    attribution_.Pass({.time_ns = i * 20'000, .inside = i % 2 == 0 ? EROICA_NO_PARENT : 9});
    if (i < 2)
      attribution_.Sample({.time_ns = i * 20'000 + 5, .leaf = i == 0 ? 1u : 2u, .state = kRuns});
  }
  attribution_.Finish();
  EXPECT_THAT(pieces_, testing::SizeIs(1));
}

TEST_F(StackAttributionTest, HoursInOneCallAreABoundedNumberOfPieces) {
  constexpr int64_t kHour = int64_t{3'600'000} * kNsPerMs;
  attribution_.Sample({.time_ns = 0, .leaf = 1, .state = kRuns});
  attribution_.Sample({.time_ns = kHour, .leaf = 1, .state = kRuns});
  attribution_.Finish();
  EXPECT_LE(pieces_.size(), 257u);
  EXPECT_EQ(std::get<0>(pieces_.front()), 0);
  EXPECT_EQ(std::get<1>(pieces_.back()), kHour);
}

TEST_F(StackAttributionTest, AfterFinishTheTimeBetweenBelongsToNobody) {
  Sample(0, 1, kRuns);
  Sample(5, 1, kRuns);
  attribution_.Finish();
  Sample(50, 1, kRuns);
  Sample(60, 1, kRuns);
  attribution_.Finish();
  attribution_.Finish();
  EXPECT_THAT(pieces_,
              ElementsAre(Piece(0, 5 * kNsPerMs, 1), Piece(50 * kNsPerMs, 60 * kNsPerMs, 1)));
}

TEST_F(StackAttributionTest, ClocksAndCountersThatGoBackMakeNoNegativeInterval) {
  Pass(10, 20, 20);
  Sample(9, 1, kRuns);
  Pass(5, 10, 10);
  Sample(3, 2, kBlocked);
  Pass(20, 5, 90);
  Pass(30, 500, 0);
  attribution_.Finish();
  for (const auto& [start, end, leaf] : pieces_) EXPECT_LT(start, end) << leaf;
  for (const auto& [start, end, leaf] : waits_) EXPECT_LT(start, end) << leaf;
  EXPECT_EQ(std::get<1>(pieces_.back()), 30 * kNsPerMs);
}

}  // namespace
}  // namespace eroica

#include "producers/python/gil_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <vector>

#include "producers/core/testing/recorded_core.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;

constexpr int64_t kTickNs = 20'000'000;
constexpr int64_t kBeginNs = 1'000'000'000;

class GilWaitsTest : public ::testing::Test {
 protected:
  GilWaitsTest() { recorded_core::Reset(); }

  void Ticks(int count, bool waiting) {
    Ticks(count, waiting ? ThreadState::kWaitingForGil : ThreadState::kRunning, 0);
  }
  // ran_ns: what the thread ran and waited for a processor from one tick to the next.
  void Ticks(int count, ThreadState state, int64_t ran_ns) {
    for (int i = 0; i < count; ++i) {
      waits_.Tick(now_ns_, now_ns_ + kTickNs, state);
      now_ns_ += kTickNs;
      if (active_ns_) *active_ns_ += ran_ns;
    }
  }
  int64_t EmittedNs() const {
    int64_t ns = 0;
    for (const auto& [start_ns, end_ns, function] : emitted_) ns += end_ns - start_ns;
    return ns;
  }
  std::string NameOf(uint32_t function) const {
    return recorded_core::Read().functions.at(function).name;
  }

  int64_t now_ns_ = kBeginNs;
  int counts_ = 0;
  int finds_ = 0;
  std::optional<int64_t> active_ns_;  // nothing: the kernel does not count
  std::string holder_ = "thread hog in hog.py(1): hog";
  std::vector<std::tuple<int64_t, int64_t, uint32_t>> emitted_;
  GilWaits waits_{
      [this](int64_t start, int64_t end, uint32_t f) { emitted_.emplace_back(start, end, f); },
      {[this] { ++counts_; },
       [this] {
         ++finds_;
         return holder_;
       }},
      [this] { return active_ns_; }};
};

TEST_F(GilWaitsTest, AThreadThatNeverWaitsEmitsAndAsksNothing) {
  Ticks(500, false);
  EXPECT_THAT(emitted_, IsEmpty());
  EXPECT_EQ(counts_, 0);
  EXPECT_THAT(recorded_core::Read().functions, IsEmpty());
}

TEST_F(GilWaitsTest, HalfASecondHasItsShareAtTheEndsOfItsCells) {
  Ticks(10, false);
  Ticks(5, true);
  Ticks(10, false);
  ASSERT_EQ(emitted_.size(), 50u);
  EXPECT_EQ(emitted_.front(), std::tuple(kBeginNs + 8'000'000, kBeginNs + 10'000'000, 0u));
  EXPECT_EQ(std::get<1>(emitted_.back()), kBeginNs + 500'000'000);
  const auto functions = recorded_core::Read().functions;
  EXPECT_EQ(functions[0].name, "(waiting for the GIL)");
  EXPECT_EQ(functions[0].function_class, EROICA_PYTHON);
  EXPECT_EQ(functions[0].wait, EROICA_WAIT_OTHER);
}

// A quarter of the time it was blocked, says the kernel; three of four blocked ticks saw the GIL.
// How many ticks saw it run, or wait for a processor, tells nothing more.
TEST_F(GilWaitsTest, OfTheTimeThatTheKernelHasCountedItIsTheTicksShare) {
  for (const int running : {0, 4, 16}) {
    active_ns_ = 0;
    int64_t before_ns = 0;
    for (int i = 0; i < 40; ++i) {
      if (i == 20) before_ns = EmittedNs();
      Ticks(6, ThreadState::kWaitingForGil, kTickNs * 3 / 4);
      Ticks(2, ThreadState::kInSystemCall, kTickNs * 3 / 4);
      Ticks(running, ThreadState::kRunning, kTickNs * 3 / 4);
      waits_.Finish();
    }
    const double half_ns = 20.0 * (8 + running) * static_cast<double>(kTickNs);
    const auto emitted_ns = static_cast<double>(EmittedNs() - before_ns);
    EXPECT_NEAR(emitted_ns / half_ns, 0.75 * 0.25, 0.03) << running;
  }
}

TEST_F(GilWaitsTest, WhatWasSeenBeforeStandsWhereNoTickFoundItBlocked) {
  active_ns_ = 0;
  for (int i = 0; i < 8; ++i) Ticks(25, ThreadState::kWaitingForGil, kTickNs / 2);
  int64_t until_then_ns = EmittedNs();
  Ticks(25, ThreadState::kRunning, kTickNs / 2);
  EXPECT_NEAR(static_cast<double>(EmittedNs() - until_then_ns), 250e6, 30e6);
  for (int i = 0; i < 8; ++i) Ticks(25, ThreadState::kInSystemCall, kTickNs / 2);
  until_then_ns = EmittedNs();
  Ticks(25, ThreadState::kRunning, kTickNs / 2);
  EXPECT_LT(EmittedNs() - until_then_ns, 1'000'000);
}

TEST_F(GilWaitsTest, LongWaitsAreEmittedWhileTheyLast) {
  Ticks(30, true);
  EXPECT_EQ(emitted_.size(), 50u);
  EXPECT_EQ(waits_.waiting_ns(), 30 * kTickNs);
  waits_.Finish();
  waits_.Finish();
  EXPECT_EQ(emitted_.size(), 60u);
  EXPECT_EQ(std::get<0>(emitted_[0]), kBeginNs);
  EXPECT_EQ(std::get<1>(emitted_.back()), kBeginNs + 30 * kTickNs);
  for (size_t i = 1; i < emitted_.size(); ++i) {
    EXPECT_EQ(std::get<0>(emitted_[i]), std::get<1>(emitted_[i - 1]));
  }
}

TEST_F(GilWaitsTest, TheHolderIsNamedAfterASecondOfCounting) {
  Ticks(51, true);
  EXPECT_EQ(counts_, 1);
  EXPECT_EQ(finds_, 0);
  Ticks(51, true);
  EXPECT_EQ(finds_, 1);
  EXPECT_EQ(NameOf(waits_.function()),
            "(waiting for the GIL, held by thread hog in hog.py(1): hog)");
}

TEST_F(GilWaitsTest, TheNameStaysUntilAnotherThreadHoldsTheGil) {
  Ticks(102, true);
  const uint32_t named = waits_.function();
  holder_ = "thread hog in hog.py(9): eat";
  Ticks(51, true);
  Ticks(101, false);
  EXPECT_EQ(waits_.function(), named);
  holder_ = "thread pig in hog.py(1): hog";
  Ticks(102, true);
  EXPECT_EQ(NameOf(waits_.function()),
            "(waiting for the GIL, held by thread pig in hog.py(1): hog)");
}

TEST_F(GilWaitsTest, AFewWaitsAreNoReasonToTakeTheGil) {
  for (int second = 0; second < 10; ++second) {
    Ticks(2, true);
    Ticks(49, false);
  }
  EXPECT_EQ(counts_, 0);
  EXPECT_EQ(finds_, 0);
}

TEST_F(GilWaitsTest, AHolderThatIsNotKnownLeavesTheWaitAsItIs) {
  holder_ = "";
  Ticks(200, true);
  EXPECT_GT(finds_, 0);
  EXPECT_EQ(recorded_core::Read().functions.size(), 1u);
}

}  // namespace
}  // namespace eroica

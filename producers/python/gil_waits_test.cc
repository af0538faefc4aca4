#include "producers/python/gil_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    for (int i = 0; i < count; ++i) {
      waits_.Tick(now_ns_, now_ns_ + kTickNs, waiting);
      now_ns_ += kTickNs;
    }
  }
  std::string NameOf(uint32_t function) const {
    return recorded_core::Read().functions.at(function).name;
  }

  int64_t now_ns_ = kBeginNs;
  int counts_ = 0;
  int finds_ = 0;
  std::string holder_ = "thread hog in hog.py(1): hog";
  std::vector<std::tuple<int64_t, int64_t, uint32_t>> emitted_;
  GilWaits waits_{
      [this](int64_t start, int64_t end, uint32_t f) { emitted_.emplace_back(start, end, f); },
      {[this] { ++counts_; },
       [this] {
         ++finds_;
         return holder_;
       }}};
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

#include "producers/python/training_boundaries.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "producers/core/testing/recorded_core.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

class TrainingBoundariesTest : public ::testing::Test {
 protected:
  TrainingBoundariesTest() {
    recorded_core::Reset();
    LeaveAll();
    while (TakeBoundary(INT64_MAX)) {
    }
  }
};

TEST_F(TrainingBoundariesTest, AreTakenInOrderAndNotBeforeTheirTime) {
  PassBoundary(10, BoundaryKind::kStep);
  PassBoundary(20, BoundaryKind::kMark, EROICA_BACKWARD_BEGIN);
  const auto first = TakeBoundary(15);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->time_ns, 10);
  EXPECT_EQ(first->thread, gettid());
  EXPECT_EQ(first->inside, EROICA_NO_PARENT);
  EXPECT_FALSE(TakeBoundary(15));
  const auto second = TakeBoundary(20);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->of, static_cast<uint32_t>(EROICA_BACKWARD_BEGIN));
}

TEST_F(TrainingBoundariesTest, KnowTheRegionAndWhetherItWaits) {
  EnterRegion(10, 7, false);
  EnterRegion(20, 8, true);
  LeaveRegion(30, 8);
  LeaveRegion(40, 7);
  EXPECT_EQ(TakeBoundary(99)->inside, 7u);
  const auto waits = TakeBoundary(99);
  EXPECT_EQ(waits->inside, 8u);
  EXPECT_TRUE(waits->in_covered);
  const auto back = TakeBoundary(99);
  EXPECT_EQ(back->inside, 7u);
  EXPECT_FALSE(back->is_covered());
  EXPECT_EQ(TakeBoundary(99)->inside, EROICA_NO_PARENT);
}

TEST_F(TrainingBoundariesTest, ARegionThatIsLeftTwiceOrNeverEnteredIsABoundaryOnly) {
  LeaveRegion(5, 3);
  EnterRegion(10, 7, false);
  EnterRegion(20, 8, false);
  LeaveRegion(30, 7);  // with the one that is open in it
  LeaveRegion(40, 8);
  EXPECT_EQ(TakeBoundary(99)->inside, EROICA_NO_PARENT);
  EXPECT_EQ(TakeBoundary(99)->inside, 7u);
  EXPECT_EQ(TakeBoundary(99)->inside, 8u);
  EXPECT_EQ(TakeBoundary(99)->inside, EROICA_NO_PARENT);
  EXPECT_EQ(TakeBoundary(99)->inside, EROICA_NO_PARENT);
}

TEST_F(TrainingBoundariesTest, ACollectiveThatIsWaitedForCovers) {
  EnterCollective(10, 5);
  EXPECT_TRUE(IsInsideCollective());
  LeaveCollective(20, 4);
  EXPECT_TRUE(TakeBoundary(99)->in_collective);
  EXPECT_TRUE(TakeBoundary(99)->in_collective) << "another one has ended";
  LeaveCollective(30, 5);
  EXPECT_FALSE(TakeBoundary(99)->in_collective);
}

TEST_F(TrainingBoundariesTest, OtherThreadsPassNone) {
  std::thread([] { PassBoundary(10, BoundaryKind::kStep); }).join();
  EXPECT_FALSE(TakeBoundary(99));
}

TEST_F(TrainingBoundariesTest, WhereNobodyTakesThemTheNewestAreDropped) {
  for (int64_t time_ns = 1; time_ns <= 10'000; ++time_ns)
    PassBoundary(time_ns, BoundaryKind::kStep);
  int64_t last_ns = 0;
  while (const auto boundary = TakeBoundary(INT64_MAX)) {
    EXPECT_EQ(boundary->time_ns, last_ns + 1);
    last_ns = boundary->time_ns;
  }
  EXPECT_GT(last_ns, 100);
  EXPECT_LT(last_ns, 10'000);
}

// Or all that follows would seem to be of the region that was open at that moment.
TEST_F(TrainingBoundariesTest, TheLastOneBeforeNewOnesAreDroppedIsInNothing) {
  for (int64_t time_ns = 1; time_ns <= 10'000; ++time_ns) EnterRegion(time_ns, 7, true);
  std::optional<TrainingBoundary> last;
  while (const auto boundary = TakeBoundary(INT64_MAX)) last = boundary;
  ASSERT_TRUE(last);
  EXPECT_EQ(last->inside, EROICA_NO_PARENT);
  EXPECT_FALSE(last->is_covered());
  for (int i = 0; i < 10'000; ++i) {
    LeaveRegion(20'000, 7);
    while (TakeBoundary(INT64_MAX)) {
    }
  }
  PassBoundary(30'000, BoundaryKind::kStep);
  EXPECT_EQ(TakeBoundary(INT64_MAX)->inside, EROICA_NO_PARENT);
}

// The kernel is asked twice a millisecond at most; between, a thread counts as running.
TEST_F(TrainingBoundariesTest, HaveWhatTheThreadHasRun) {
  const int64_t begin_ns = eroica_now_ns();
  PassBoundary(begin_ns, BoundaryKind::kStep);
  PassBoundary(begin_ns + 200'000, BoundaryKind::kStep);  // is estimated, and not asked for
  const int64_t most_ns = std::max<int64_t>(200'000, eroica_now_ns() - begin_ns);
  const auto first = TakeBoundary(INT64_MAX), second = TakeBoundary(INT64_MAX);
  if (!first->times) GTEST_SKIP() << "this kernel does not count";
  EXPECT_GT(first->times->on_processor_ns, 0);
  EXPECT_GT(second->times->on_processor_ns, first->times->on_processor_ns);
  EXPECT_LE(second->times->on_processor_ns, first->times->on_processor_ns + most_ns);
  EXPECT_GE(second->times->runnable_ns, first->times->runnable_ns);
}

}  // namespace
}  // namespace eroica

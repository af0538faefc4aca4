// The wall clock is set while events are taken: no event moves. The clocks are this program's own,
// as the library sees them, too.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>

#include "producers/core/testing/attached_core.h"

namespace {

constexpr int64_t kHourNs = int64_t{3'600} * 1'000'000'000;

// By how much the wall clock is off, for every thread.
std::atomic<int64_t> wall_shift_ns{0};
// On a thread that has set them, the clocks stand still there; 0: they go.
thread_local int64_t still_wall_ns = 0;
thread_local int64_t still_monotonic_ns = 0;

timespec ToTime(int64_t ns) {
  return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int64_t still = clock == CLOCK_REALTIME    ? still_wall_ns
                        : clock == CLOCK_MONOTONIC ? still_monotonic_ns
                                                   : 0;
  if (still != 0) {
    *time = ToTime(still);
    return 0;
  }
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME && result == 0) {
    *time = ToTime(int64_t{time->tv_sec} * 1'000'000'000 + time->tv_nsec + wall_shift_ns.load());
  }
  return static_cast<int>(result);
}

namespace eroica {
namespace {

class ClockJumpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static AttachedCore core;
    ASSERT_TRUE(core.attached()) << eroica_off_reason();
  }
  void TearDown() override {
    wall_shift_ns = 0;
    still_wall_ns = 0;
    still_monotonic_ns = 0;
  }
};

TEST_F(ClockJumpTest, TheLibraryReadsTheClocksOfThisProgram) {
  still_monotonic_ns = 1'000'000'000;
  const int64_t first = eroica_now_ns();
  EXPECT_EQ(eroica_now_ns(), first);
  still_monotonic_ns += 5;
  EXPECT_EQ(eroica_now_ns(), first + 5);
}

TEST_F(ClockJumpTest, TimeGoesOnWhileTheWallClockJumps) {
  const EroicaCoreStatistics before = AttachedCore::Statistics();
  const uint32_t function =
      eroica_function("kernel", EROICA_GPU_COMPUTE, EROICA_WAIT_NONE, EROICA_NO_PARENT);
  const uint8_t lane = eroica_lane("stream 7", EROICA_DEVICE_STREAM);
  int64_t last = eroica_now_ns();
  const int64_t first = last;
  constexpr uint64_t kEvents = 6'000;
  for (uint64_t i = 0; i < kEvents; ++i) {
    if (i % 500 == 0) wall_shift_ns = std::array{kHourNs, -kHourNs, int64_t{0}}[i / 500 % 3];
    const int64_t now = eroica_now_ns();
    ASSERT_GE(now, last);
    eroica_interval(last, now, function, lane);
    last = now;
  }
  EXPECT_LT(last - first, kHourNs) << "a jump of the wall clock came through";
  const uint64_t seen = before.events_taken + before.events_lost;
  ASSERT_TRUE(AttachedCore::AwaitEvents(seen + kEvents));
  EXPECT_EQ(AttachedCore::Statistics().events_lost, before.events_lost)
      << "times that run backwards would be refused";
}

TEST_F(ClockJumpTest, AStampOfTheWallClockIsMappedAsItStandsNow) {
  still_monotonic_ns = int64_t{500} * 1'000'000'000;
  for (const int64_t wall : {kHourNs * 400'000, kHourNs * 400'001, kHourNs * 399'999}) {
    still_wall_ns = wall;
    EXPECT_EQ(eroica_from_realtime_ns(wall), eroica_now_ns());
    EXPECT_EQ(eroica_from_realtime_ns(wall - 5'000'000), eroica_now_ns() - 5'000'000);
    EXPECT_EQ(eroica_from_monotonic_ns(still_monotonic_ns), eroica_now_ns());
  }
}

TEST_F(ClockJumpTest, ATimeBeyondAllTimesIsTheLastOrTheFirstOfThem) {
  EXPECT_EQ(eroica_from_monotonic_ns(INT64_MAX), INT64_MAX);
  still_monotonic_ns = int64_t{500} * 1'000'000'000;
  still_wall_ns = kHourNs;  // set back: what it said before lies later
  EXPECT_EQ(eroica_from_realtime_ns(INT64_MAX), INT64_MAX);
  still_wall_ns = kHourNs * 600'000;
  EXPECT_EQ(eroica_from_realtime_ns(INT64_MIN), INT64_MIN);
}

}  // namespace
}  // namespace eroica

#include "producers/python/trace_pace.h"

#include <gtest/gtest.h>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr uint32_t kRoom = 16'384;

// Calls of one length, one after the other, for that long.
struct Kept {
  int64_t calls = 0;
  int64_t kept = 0;
};
Kept Trace(TracePace& pace, int64_t* now_ns, int64_t duration_ns, int64_t for_ns) {
  Kept result;
  for (const int64_t end_ns = *now_ns + for_ns; *now_ns < end_ns; ++result.calls) {
    const int64_t start_ns = *now_ns;
    *now_ns += duration_ns;
    result.kept += pace.Keeps(start_ns, *now_ns, kRoom);
  }
  return result;
}

TEST(TracePace, AFewCallsAreAllKept) {
  TracePace pace;
  int64_t now_ns = kNsPerSecond;
  const Kept kept = Trace(pace, &now_ns, 200'000, 10 * kNsPerSecond);  // 5,000 a second
  EXPECT_EQ(kept.kept, kept.calls);
}

TEST(TracePace, AFloodIsBoundedAndItsLongCallsStay) {
  TracePace pace;
  int64_t now_ns = kNsPerSecond;
  int64_t kept = 0;
  int64_t long_calls = 0;
  int64_t long_kept = 0;
  while (now_ns < 11 * kNsPerSecond) {
    const int64_t caller_ns = now_ns;
    kept += Trace(pace, &now_ns, 2'000, 20 * kNsPerMs).kept;  // 500,000 a second
    ++long_calls;
    long_kept += pace.Keeps(caller_ns, now_ns, kRoom);
  }
  EXPECT_LT(kept, 10 * 20'000);
  EXPECT_EQ(long_kept, long_calls);
}

TEST(TracePace, AfterAFloodShortCallsAreKeptAgain) {
  TracePace pace;
  int64_t now_ns = kNsPerSecond;
  Trace(pace, &now_ns, 2'000, kNsPerSecond);
  EXPECT_GT(pace.shortest_ns(), 0);
  Trace(pace, &now_ns, 500'000, kNsPerSecond);
  EXPECT_EQ(pace.shortest_ns(), 0);
}

TEST(TracePace, ARingThatIsNearlyFullTakesLongCallsOnly) {
  TracePace pace;
  EXPECT_FALSE(pace.Keeps(kNsPerSecond, kNsPerSecond + kNsPerMs, TracePace::kLeastRoom - 1));
  EXPECT_TRUE(pace.Keeps(kNsPerSecond, kNsPerSecond + 20 * kNsPerMs, TracePace::kLeastRoom - 1));
  EXPECT_TRUE(pace.Keeps(kNsPerSecond, kNsPerSecond + kNsPerMs, TracePace::kLeastRoom));
}

}  // namespace
}  // namespace eroica

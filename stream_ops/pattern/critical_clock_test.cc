#include "stream_ops/pattern/critical_clock.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(CriticalClock, ShowsTimeThatNothingAboveTook) {
  CriticalClock clock;
  clock.Set({{10, 20}, {30, 60}},
            {{0, 5}, {15, 35}, {40, 41}, {50, 55}});  // runs in [10,15) [35,40) [41,50) [55,60)
  EXPECT_FALSE(clock.undisturbed());
  EXPECT_EQ(clock.At(0), 0);
  EXPECT_EQ(clock.At(12), 2);
  EXPECT_EQ(clock.At(20), 5);
  EXPECT_EQ(clock.At(37), 7);
  EXPECT_EQ(clock.At(45), 14);
  EXPECT_EQ(clock.At(52), 19);
  EXPECT_EQ(clock.At(60), 24);
  EXPECT_EQ(clock.At(1000), 24);
}

TEST(CriticalClock, OneSpanAboveCoversSeveralBelow) {
  CriticalClock clock;
  clock.Set({{10, 20}, {30, 40}, {50, 60}}, {{5, 55}});
  EXPECT_EQ(clock.At(55), 0);
  EXPECT_EQ(clock.At(100), 5);
}

TEST(CriticalClock, AheadAgreesWithAtFromWhereverItStands) {
  std::vector<TimeSpan> above;
  for (int64_t i = 0; i < 100; ++i) above.push_back({10 * i + 3, 10 * i + 5});
  CriticalClock clock;
  clock.Set({{0, 1000}}, above);
  for (int64_t now = 0; now < 1000; now += 7) {
    EXPECT_EQ(clock.Advance(now), clock.At(now));
    for (int64_t t = now; t < 1010; t += 13)
      EXPECT_EQ(clock.Ahead(t), clock.At(t)) << now << " " << t;
  }
}

TEST(CriticalClock, WithoutAnythingAboveAnswersWithTheTime) {
  CriticalClock clock;
  clock.Set({{10, 20}}, {});
  EXPECT_TRUE(clock.undisturbed());
  EXPECT_EQ(clock.Ahead(15) - clock.Advance(11), 4);
  EXPECT_EQ(clock.At(100), 10) << "the clock proper";
}

TEST(CriticalClocks, LowerPrioritiesSeeTheUnionAbove) {
  CriticalClocks clocks;
  clocks.Add(2, 0, 100);
  clocks.Add(0, 10, 20);
  clocks.Add(1, 15, 30);
  clocks.Add(0, 40, 50);
  clocks.Add(1, 60, 61);
  clocks.Finish();
  EXPECT_EQ(clocks[0].At(100), 20);
  EXPECT_EQ(clocks[1].At(100), 11);
  EXPECT_EQ(clocks[2].At(100), 69);
  EXPECT_EQ(clocks[3].At(100), 0);
  clocks.Clear();
  clocks.Add(2, 0, 100);
  clocks.Finish();
  EXPECT_TRUE(clocks[2].undisturbed());
  EXPECT_EQ(clocks[2].At(100), 100);
}

}  // namespace
}  // namespace eroica

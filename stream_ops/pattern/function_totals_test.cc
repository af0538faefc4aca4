#include "stream_ops/pattern/function_totals.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(FunctionTotals, MomentsOfAKnownSample) {
  FunctionTotals totals;
  for (int64_t d : {2, 4, 4, 4, 5, 5, 7, 9}) totals.Count(d);
  EXPECT_EQ(totals.count, 8u);
  EXPECT_EQ(totals.total_ns, 40);
  EXPECT_EQ(totals.min_ns, 2);
  EXPECT_EQ(totals.max_ns, 9);
  EXPECT_DOUBLE_EQ(totals.mean_ns(), 5.0);
  EXPECT_DOUBLE_EQ(totals.m2(), 32.0);
}

TEST(FunctionTotals, SmallSpreadOnALargeMeanIsNotLost) {
  FunctionTotals totals;
  const int64_t hour = int64_t{3600} * 1'000'000'000;
  for (int64_t d : {hour, hour + 1, hour + 2}) totals.Count(d);
  EXPECT_DOUBLE_EQ(totals.m2(), 2.0);
  totals.Count(hour + 3);  // a mean that is no integer
  EXPECT_DOUBLE_EQ(totals.m2(), 5.0);
}

TEST(FunctionTotals, EmptyAndOverlongAreNotGarbage) {
  FunctionTotals totals;
  EXPECT_EQ(totals.mean_ns(), 0.0);
  EXPECT_EQ(totals.m2(), 0.0);
  totals.Count(int64_t{1} << 61);
  totals.Count(1);
  EXPECT_EQ(totals.max_ns, int64_t{1} << 61);
  EXPECT_EQ(totals.m2(), 0.0) << "unknown";
}

TEST(FunctionTotals, FillsOneCacheLine) { EXPECT_EQ(sizeof(FunctionTotals), 64u); }

}  // namespace
}  // namespace eroica

#include "stream_ops/pattern/interval_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace eroica {
namespace {

TEST(IntervalSorter, CallersComeBeforeWhatTheyCall) {
  const std::vector<FunctionTraits> functions = {{.id = FunctionId{9}, .depth = 0},
                                                 {.id = FunctionId{1}, .depth = 1}};
  std::vector<Interval> intervals = {{5, 6, 0, 0}, {0, 4, 1, 0}, {0, 4, 0, 0}, {0, 9, 1, 0}};
  IntervalSorter().Sort(functions, intervals);
  EXPECT_EQ(intervals[0].end_ns, 9);
  EXPECT_EQ(intervals[1].function, 0u) << "less deep, whatever its id";
  EXPECT_EQ(intervals[2].function, 1u);
  EXPECT_EQ(intervals[3].start_ns, 5);
}

TEST(IntervalSorter, AgreesWithStandardSortHoweverBroken) {
  std::mt19937 random(7);
  std::vector<FunctionTraits> functions;
  for (uint32_t i = 0; i < 5; ++i) functions.push_back({.id = FunctionId{100 - i}, .depth = i / 2});
  IntervalSorter sorter;
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    const int64_t disorder = round % 40;
    const auto count = static_cast<int64_t>(random() % 300);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t start = i + static_cast<int64_t>(random()) % (disorder + 1);
      intervals.push_back({start, start + static_cast<int64_t>(random() % 4),
                           static_cast<uint32_t>(random() % 5), 0});
    }
    std::vector<Interval> expected = intervals;
    std::sort(expected.begin(), expected.end(), [&](const Interval& a, const Interval& b) {
      const auto key = [&](const Interval& v) {
        return std::tuple(v.start_ns, -v.end_ns, functions[v.function].depth,
                          functions[v.function].id);
      };
      return key(a) < key(b);
    });
    sorter.Sort(functions, intervals);
    ASSERT_EQ(intervals, expected) << "round " << round;
  }
}

TEST(IntervalSorter, NothingAndOne) {
  IntervalSorter sorter;
  std::vector<Interval> intervals;
  sorter.Sort({}, intervals);
  EXPECT_TRUE(intervals.empty());
  intervals.push_back({1, 2, 0, 0});
  sorter.Sort({}, intervals);
  EXPECT_EQ(intervals.size(), 1u);
}

}  // namespace
}  // namespace eroica

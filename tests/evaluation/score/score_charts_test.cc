#include "tests/evaluation/score/score_charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/evaluation/score/testing/scored_runs.h"

namespace eroica {
namespace {

using testing::Faulty;
using ::testing::HasSubstr;
using testing::Judged;
using ::testing::Not;
using testing::Says;
using testing::SlowRank;
using enum FindingKind;

Chart TwoLines() {
  return {.title = "T",
          .x_label = "x",
          .y_label = "y",
          .x_ticks = {{0, "none"}, {10, "all"}},
          .y_ticks = {{0, "0"}, {1, "1"}},
          .series = {{.name = "a<b&c",
                      .points = {{.x = 0, .y = 0, .count = 4},
                                 {.x = 10, .y = 1, .count = 1},
                                 {.x = 99, .y = -5, .count = 1}}}}};
}

TEST(ChartSvg, DrawsPointsWithinTheAxes) {
  const std::string svg = ChartSvg(std::vector<Chart>{TwoLines()});
  EXPECT_THAT(svg, HasSubstr("points=\"70.0,368.0 650.0,46.0 650.0,368.0\""))
      << "what lies outside stands at the end";
  EXPECT_THAT(svg, HasSubstr("a&lt;b&amp;c"));
  EXPECT_THAT(svg, Not(HasSubstr("a<b")));
  EXPECT_THAT(svg, HasSubstr("n = 4"));
}

TEST(ChartSvg, ClosesEveryElement) {
  const std::string svg = ChartSvg(std::vector<Chart>{TwoLines(), TwoLines()});
  const auto count = [&svg](const std::string& part) {
    size_t n = 0;
    for (size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++n;
    return n;
  };
  for (const std::string element : {"text", "svg", "circle", "style", "title"}) {
    EXPECT_EQ(count("<" + element + " ") + count("<" + element + ">"), count("</" + element + ">"))
        << element;
  }
  EXPECT_THAT(svg, HasSubstr("height=\"860\""));
}

TEST(AccuracyChart, BinsFaultsByEffect) {
  std::vector<ScoredRun> runs;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    runs.push_back(Judged(
        Faulty(seed, 64, 0.05), {SlowRank(5)},
        seed == 0 ? std::vector<SaidFinding>() : std::vector<SaidFinding>{Says(kSlowRank, 5)}));
  }
  runs.push_back(Judged(Faulty(9, 64, 0.0), {SlowRank(5)}, {}));
  runs.push_back(Judged({.scenario = "hang", .hangs = true}, {SlowRank(5)}, {Says(kSlowRank, 5)}));
  runs.push_back(Judged({.scenario = "healthy"}, {}, {}));
  const Chart chart = AccuracyChart(runs);
  ASSERT_EQ(chart.series.size(), 1u);
  const auto& points = chart.series[0].points;
  ASSERT_EQ(points.size(), 3u);
  EXPECT_DOUBLE_EQ(points[0].x, 0.001);
  EXPECT_EQ(points[0].y, 0);
  EXPECT_NEAR(points[1].x, 0.05, 1e-12);
  EXPECT_DOUBLE_EQ(points[1].y, 0.75);
  EXPECT_EQ(points[1].count, 4u);
  EXPECT_NEAR(points[2].x, 3, 1e-12);
  EXPECT_EQ(points[2].y, 1);
  EXPECT_EQ(chart.notes.size(), 3u);
}

TEST(ReliabilityChart, SetsConfidenceAgainstBeingRight) {
  std::vector<ScoredRun> runs = {Judged(Faulty(1), {SlowRank(5)}, {Says(kSlowRank, 5, 0.92)}),
                                 Judged(Faulty(2), {SlowRank(5)}, {Says(kSlowRank, 6, 0.94)}),
                                 Judged(Faulty(3), {SlowRank(5)}, {}, "silent")};
  const Chart chart = ReliabilityChart(Score(runs));
  ASSERT_EQ(chart.series.size(), 1u) << "who says nothing has no confidence";
  ASSERT_EQ(chart.series[0].points.size(), 1u);
  EXPECT_NEAR(chart.series[0].points[0].x, 0.93, 1e-9);
  EXPECT_DOUBLE_EQ(chart.series[0].points[0].y, 0.5);
  EXPECT_TRUE(chart.diagonal);
}

TEST(ReliabilityChart, CanBeDrawnOfNothing) {
  EXPECT_THAT(ChartSvg(std::vector<Chart>{AccuracyChart({}), ReliabilityChart({})}),
              HasSubstr("</svg>"));
}

}  // namespace
}  // namespace eroica

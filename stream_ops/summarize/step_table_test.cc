#include "stream_ops/summarize/step_table.h"

#include <gtest/gtest.h>

#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

std::vector<std::tuple<int64_t, int64_t, int64_t>> Rows(const std::vector<StepSpan>& spans) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> rows;
  for (const StepSpan& span : spans) rows.emplace_back(span.id, span.begin_ns, span.end_ns);
  return rows;
}
using Expected = std::vector<std::tuple<int64_t, int64_t, int64_t>>;

TEST(StepTable, AStepLastsUntilItsEndOrTheNextBegin) {
  StepTable table;
  table.Add({10, kBegin, 1}, 0);
  table.Add({20, kEnd, 1}, 0);
  table.Add({25, kBegin, 2}, 0);
  table.Add({40, kBegin, 3}, 0);
  table.Add({60, kEnd, 3}, 0);
  table.Add({50, kBegin, 4}, 0);
  EXPECT_EQ(Rows(table.Resolve(0, 100)),
            (Expected{{1, 10, 20}, {2, 25, 40}, {3, 40, 50}, {4, 50, kEndOfTimeNs}}));
  EXPECT_EQ(Rows(table.Resolve(20, 45)), (Expected{{2, 25, 40}, {3, 40, 50}}))
      << "the next begin cuts, also from outside";
}

TEST(StepTable, OrderOfArrivalDoesNotMatter) {
  StepTable table;
  table.Add({60, kEnd, 3}, 5);
  table.Add({20, kEnd, 1}, 5);
  table.Add({40, kBegin, 3}, 6);
  table.Add({41, kBegin, 3}, 6);
  table.Add({10, kBegin, 1}, 7);
  EXPECT_EQ(Rows(table.Resolve(0, 100)), (Expected{{1, 10, 20}, {3, 40, 60}}));
  EXPECT_EQ(table.first_offset(), 5);
}

TEST(StepTable, AStepThatEndsWhereItBeginsIsNone) {
  StepTable table;
  table.Add({10, kBegin, 1}, 0);
  table.Add({20, kBegin, 2}, 0);
  table.Add({20, kEnd, 2}, 0);
  EXPECT_EQ(Rows(table.Resolve(0, 100)), (Expected{{1, 10, 20}}));
  EXPECT_EQ(table.LatestBegunBy(30), 2) << "it has begun all the same";
}

TEST(StepTable, NumbersThatGoBackInTimeAreNoSteps) {
  StepTable table;
  table.Add({100, kBegin, 1}, 0);
  table.Add({50, kBegin, 2}, 0);
  table.Add({150, kBegin, 3}, 0);
  EXPECT_EQ(Rows(table.Resolve(0, 1000)), (Expected{{1, 100, 150}, {3, 150, kEndOfTimeNs}}));
}

TEST(StepTable, LooksUpAndForgets) {
  StepTable table;
  table.Add({10, kBegin, 4}, 0);
  table.Add({30, kBegin, 8}, 1);
  table.Add({50, kEnd, 9}, 2);
  table.Add({5, MarkKind::kOptimizerStep, 4}, 3);
  table.Add({5, kBegin, -1}, 3);
  EXPECT_EQ(table.LatestBegunBy(9), std::nullopt);
  EXPECT_EQ(table.LatestBegunBy(29), 4);
  EXPECT_EQ(table.LatestBegunBy(1000), 8) << "an end alone is no step";
  EXPECT_EQ(table.FirstFrom(5)->id, 8);
  EXPECT_EQ(table.FirstFrom(9), std::nullopt);
  table.ForgetBefore(30);
  EXPECT_EQ(table.FirstFrom(0)->id, 8);
  table.ForgetBefore(1000);
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.first_offset(), std::nullopt);
}

}  // namespace
}  // namespace eroica

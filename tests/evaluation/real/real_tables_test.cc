#include "tests/evaluation/real/real_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/evaluation/score/testing/scored_runs.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Row = std::vector<std::string>;

RealRun Run(const std::string& job, RecordedPart part, RealOutcome outcome,
            uint32_t window_steps = kWholeJob) {
  RealRun run{.job = job, .healthy = job == "healthy"};
  run.variation.window_steps = window_steps;
  run.variation.part = part;
  run.verdict.outcome = outcome;
  return run;
}

std::vector<RealRun> SomeRuns() {
  return {Run("slow", RecordedPart::kAll, RealOutcome::kRight, 2),
          Run("slow", RecordedPart::kAll, RealOutcome::kPartly),
          Run("slow", RecordedPart::kHalf, RealOutcome::kMissed),
          Run("slow", RecordedPart::kHalf, RealOutcome::kRight),
          Run("slow", RecordedPart::kHalf, RealOutcome::kMissed),
          Run("healthy", RecordedPart::kAll, RealOutcome::kRight),
          Run("healthy", RecordedPart::kHalf, RealOutcome::kWrong)};
}

const Row& RowOf(const TextTable& table, const std::string& name) {
  return *std::ranges::find_if(table.rows, [&name](const Row& row) { return row[0] == name; });
}

TEST(RealTable, ACellIsHowItEndedOrTheWorstOfSeveral) {
  const TextTable table = RealTable(SomeRuns());
  ASSERT_EQ(table.rows.size(), 4u) << "the names of the columns, and three rows";
  const Row& columns = table.rows[0];
  const auto cell = [&](size_t row, const std::string& column) {
    const auto at = std::ranges::find(columns, column) - columns.begin();
    return table.rows[row][static_cast<size_t>(at)];
  };
  EXPECT_EQ(cell(1, "window"), "2 steps");
  EXPECT_EQ(cell(1, "as it is"), "right");
  EXPECT_EQ(cell(1, "half"), "-");
  EXPECT_EQ(cell(2, "as it is"), "partly");
  EXPECT_EQ(cell(2, "half"), "missed 2/3");
  EXPECT_EQ(cell(3, "job"), "healthy");
  EXPECT_EQ(cell(3, "half"), "wrong");
}

TEST(RealTotals, CountByRecordingAndByLengthOfWindows) {
  const std::vector<TextTable> totals = RealTotals(SomeRuns());
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_THAT(RowOf(totals[0], "half"),
              ElementsAre("half", "3", "1", "0", "0", "2", "0", "1", "0", "0", "1"));
  EXPECT_THAT(RowOf(totals[0], "all"),
              ElementsAre("all", "5", "2", "1", "0", "2", "0", "2", "1", "0", "1"));
  EXPECT_THAT(RowOf(totals[1], "2 steps"),
              ElementsAre("2 steps", "1", "1", "0", "0", "0", "0", "0", "0", "0", "0"));
  EXPECT_THAT(totals[1].rows.back().front(), "all");
}

TEST(WrongStatements, AreCountedOnceARunWithTheSentenceSaidMost) {
  std::vector<RealRun> runs = SomeRuns();
  for (RealRun& run : runs) {
    SaidFinding wrong = testing::Says(FindingKind::kSlowRank, 4);
    wrong.finding.subkind = "function";
    wrong.finding.title = run.healthy ? "Rank 4 is late." : "Rank 4 is slow.";
    run.said = {wrong, wrong, testing::Says(FindingKind::kHang, 1)};
    run.verdict.wrong = {true, true, false};
  }
  runs[0].gaps.sentences = {"The missing rank is the first suspect."};
  runs[0].verdict.wrong_suspects = true;
  EXPECT_THAT(WrongStatements(runs).rows,
              ElementsAre(::testing::_,
                          ElementsAre("missing ranks suspected", "1", "0",
                                      "The missing rank is the first suspect."),
                          ElementsAre("slow_rank, function", "5", "2", "Rank 4 is slow.")));
}

TEST(RealMarkdown, IsOneSectionWithItsTablesBelow) {
  const std::string page = RealMarkdown(SomeRuns(), "eroica-lab real");
  EXPECT_TRUE(page.starts_with("## Real jobs under variations\n"));
  EXPECT_THAT(page, AllOf(HasSubstr("`eroica-lab real`"), HasSubstr("\n### How each ended\n"),
                          HasSubstr("| missed 2/3 |")));
  EXPECT_EQ(page.find("What was wrongly said"), std::string::npos) << "nothing was";
}

}  // namespace
}  // namespace eroica

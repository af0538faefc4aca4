#include "tests/evaluation/score/score_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schemas/testing/not_empty.h"
#include "tests/evaluation/score/accuracy_page.h"
#include "tests/evaluation/score/testing/scored_runs.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using testing::Faulty;
using ::testing::HasSubstr;
using testing::Healthy;
using testing::Judged;
using ::testing::Not;
using testing::Says;
using testing::SlowRank;
using enum FindingKind;

std::vector<ScoredRun> RunsOfTables() {
  return {Judged(Faulty(1), {SlowRank(5)}, {Says(kSlowRank, 5)}),
          Judged(Faulty(2), {SlowRank(5)}, {}),
          Judged(Faulty(3), {SlowRank(5)}, {Says(kContention, 5)}),
          Judged(Healthy(1), {}, {Says(kSlowRank, 6)})};
}

const TextTable& Titled(const std::vector<TextTable>& tables, const std::string& part) {
  const auto it = std::find_if(tables.begin(), tables.end(), [&part](const TextTable& table) {
    return table.title.find(part) != std::string::npos;
  });
  static const TextTable kNone;
  return it == tables.end() ? kNone : *it;
}

TEST(ScoreTables, RowsAreAsLongAsTheFirst) {
  for (const TextTable& table : NotEmpty(ScoreTables(Score(RunsOfTables())))) {
    for (const auto& row : table.rows)
      EXPECT_EQ(row.size(), table.rows.front().size()) << table.title;
  }
}

TEST(ScoreTables, ShowSharesAndCounts) {
  const std::vector<TextTable> tables = ScoreTables(Score(RunsOfTables()));
  EXPECT_THAT(Titled(tables, "Faults by family").rows.at(1),
              ElementsAre("gpu slow", "up to 64", "3", "3", "66.7 %", "66.7 %", "66.7 %", "33.3 %",
                          "33.3 %", "0", "0", "1.0", "+10.0 %"));
  EXPECT_THAT(Titled(tables, "nothing to find").rows.at(1),
              ElementsAre("healthy", "65 to 512", "1", "1", "2.00", "1", "0.50"));
}

TEST(ScoreTables, HoldWhatWasReachedAgainstTheTargets) {
  const TextTable table = Titled(ScoreTables(Score(RunsOfTables())), "Targets: eroica");
  ASSERT_EQ(table.rows.size(), 9u);
  EXPECT_THAT(table.rows[1], ElementsAre("right culprit, faults that cost 3 % and more", "99 %",
                                         "66.7 %", "3 faults"));
  EXPECT_THAT(table.rows[3], ElementsAre("windows to the right culprit, the same", "2", "1.0",
                                         "2 faults, median"));
  EXPECT_THAT(table.rows[4], ElementsAre("named rightly within 2 windows, the same", "99 %",
                                         "66.7 %", "3 faults"));
  EXPECT_THAT(table.rows[5],
              ElementsAre("right culprit, faults that cost 1 to 3 %", "90 %", "-", "0 faults"));
  EXPECT_THAT(table.rows[6], ElementsAre("false findings in jobs with nothing to find", "0", "1",
                                         "1 runs, 2.0 job-hours"));
  EXPECT_THAT(table.rows[8], ElementsAre("right culprit, 3 % and more, over 4096 ranks",
                                         "66.7 % as up to 64", "-", "0 faults"));
}

TEST(ScoreTables, NeverRoundUpToAll) {
  std::vector<ScoredRun> runs(3000, Judged(Faulty(1), {SlowRank(5)}, {Says(kSlowRank, 5)}));
  EXPECT_EQ(Titled(ScoreTables(Score(runs)), "All methods").rows.at(1).at(3), "100.0 %");
  runs.push_back(Judged(Faulty(1), {SlowRank(5)}, {}));
  EXPECT_EQ(Titled(ScoreTables(Score(runs)), "All methods").rows.at(1).at(3), "99.9 %");
}

TEST(ScoreTables, NothingToShowIsNoTable) { EXPECT_TRUE(ScoreTables({}).empty()); }

TEST(Misses, SayWhatWasSaidInstead) {
  const TextTable table = Misses(RunsOfTables(), "eroica", {{"healthy", "too loud"}});
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_THAT(table.rows[1], ElementsAre("gpu_slow_64 / 2", "missed", "slow_rank of rank 5 in gemm",
                                         "nothing", "-"));
  EXPECT_THAT(table.rows[2],
              ElementsAre("gpu_slow_64 / 3", "wrong kind", "slow_rank of rank 5 in gemm",
                          "contention of rank 5 in gemm (window 0)", "-"));
  EXPECT_THAT(table.rows[3], ElementsAre("healthy / 1", "false", "nothing",
                                         "slow_rank of rank 6 in gemm (window 0)", "too loud"));
  EXPECT_EQ(Misses(RunsOfTables(), "other", {}).rows.size(), 1u);
}

TEST(ToldLate, TheLatestFirst) {
  std::vector<ScoredRun> runs = RunsOfTables();
  EXPECT_EQ(ToldLate(runs, "eroica", {}).rows.size(), 1u) << "all in the first window";
  runs[0].verdict.truths[0].windows = 3;
  runs[2].verdict.truths[0].windows = 5;
  const KnownMisses known = {{"family gpu slow", "more than two windows: warms up"}};
  const TextTable table = ToldLate(runs, "eroica", known);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_THAT(table.rows[1], ElementsAre("gpu_slow_64 / 3", "+10.0 %", "5",
                                         "slow_rank of rank 5 in gemm", "warms up"));
  EXPECT_EQ(table.rows[2][2], "3");
  runs[0].truths[0].effect = 0.02;
  EXPECT_EQ(ToldLate(runs, "eroica", known).rows.size(), 2u) << "no target speaks of its time";
}

TEST(Effects, OneRowAScenario) {
  std::vector<ScoredRun> runs = RunsOfTables();
  runs.push_back(
      Judged({.scenario = "hang", .family = "hang", .seed = 1, .ranks = 8, .hangs = true},
             {SlowRank(1)}, {}));
  const TextTable table = Effects(runs);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_THAT(table.rows[1], ElementsAre("gpu slow", "gpu_slow_64", "64", "3", "+10.0 %"));
  EXPECT_THAT(table.rows[2], ElementsAre("hang", "hang", "8", "1", "hangs"));
}

TEST(Effects, OfSeveralFaultsTogetherAndAlone) {
  ScoredRun run = Judged(Faulty(1), {SlowRank(5), SlowRank(6)}, {});
  run.truths[1].effect = 0.01;
  EXPECT_EQ(Effects(std::vector<ScoredRun>{run}).rows.at(1).back(), "+10.0 % (+10.0 %, +1.0 %)");
}

TEST(Markdown, EscapesWhatNamesHold) {
  const std::vector<TextTable> tables = {
      {.title = "T", .note = "", .rows = {{"a", "b"}, {"x|y", "<T>\n_z_"}}}};
  EXPECT_EQ(AsMarkdown(tables), "## T\n\n| a | b |\n|---|---:|\n| x\\|y | \\<T> \\_z\\_ |\n");
}

TEST(AccuracyPage, IsTheSameForTheSameRuns) {
  const std::vector<ScoredRun> runs = RunsOfTables();
  const std::string text = AccuracyMarkdown({.command = "eroica-lab score",
                                             .chart = "accuracy.svg",
                                             .runs = runs,
                                             .known = {{"healthy", "too loud"}}});
  EXPECT_THAT(text, HasSubstr("Written by `eroica-lab score`"));
  EXPECT_THAT(text, HasSubstr("](accuracy.svg)"));
  EXPECT_THAT(text, HasSubstr("## Effect of each fault"));
  EXPECT_THAT(text, HasSubstr("too loud |"));
  EXPECT_EQ(AccuracyMarkdown({.command = "eroica-lab score",
                              .chart = "accuracy.svg",
                              .runs = runs,
                              .known = {{"healthy", "too loud"}}}),
            text);
  EXPECT_THAT(
      AccuracyMarkdown({.command = "eroica-lab score", .chart = "", .runs = {}, .known = {}}),
      HasSubstr("# Accuracy"));
}

TEST(Brief, NamesWho) {
  ExpectedFinding expected{.kinds = {kSlowRank, kContention}, .hosts = {"host-1"}};
  EXPECT_EQ(Brief(expected), "slow_rank or contention of host host-1");
  expected = {.kinds = {kCommunication}, .ranks = {3}, .peer_rank = 17};
  EXPECT_EQ(Brief(expected), "communication of rank 3-17");
  SaidFinding said = Says(kSlowRank, 0);
  for (int32_t rank = 1; rank < 8; ++rank) said.finding.culprits.push_back({.rank = rank});
  EXPECT_EQ(Brief(said), "slow_rank of ranks 0, 1, 2, 3 and 4 more in gemm (window 0)");
  said.finding.culprits.clear();
  EXPECT_THAT(Brief(said), HasSubstr("of nobody"));
}

TEST(AccuracyPage, SaysBesideAllWhatIsReachedWhereTheTelemetryTells) {
  std::vector<ScoredRun> runs = RunsOfTables();
  runs[1].facts.scenario = "hidden";
  const std::string without = "without what nothing in the telemetry tells";
  EXPECT_THAT(AccuracyMarkdown({.runs = runs, .known = {{"hidden", "cannot be told: one host"}}}),
              HasSubstr(without));
  EXPECT_THAT(AccuracyMarkdown({.runs = runs, .known = {{"hidden", "too small"}}}),
              Not(HasSubstr(without)));
  const std::string late = "named rightly within 2 windows, the same | 99 % | 50.0 % | 2 faults";
  runs[0].verdict.truths[0].windows = 3;
  EXPECT_THAT(AccuracyMarkdown({.runs = runs, .known = {{"hidden", "cannot be told: one host"}}}),
              HasSubstr(late));
}

}  // namespace
}  // namespace eroica

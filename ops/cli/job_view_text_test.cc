#include "ops/cli/job_view_text.h"

#include <absl/strings/str_join.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/printable_text.h"
#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

JobView View() {
  JobView view;
  view.job = {.name = "night",
              .state = "running",
              .world_size = 8,
              .ranks_seen = 8,
              .newest_window = "steps-12",
              .step_ns = 148e6};
  for (int64_t step = 0; step < 100; ++step)
    view.steps.push_back({.step = step,
                          .median_ns = 100e6 + (step == 99 ? 48e6 : 0),
                          .busy_median_ns = 90e6,
                          .busy_max_ns = 117e6,
                          .busiest_rank = 6});
  for (int i = 0; i < 20; ++i)
    view.findings.push_back(
        {.id = "id", .severity = Severity::kCritical, .title = "Rank 6 holds 7 other ranks up"});
  view.findings_open = 25;
  for (uint32_t rank = 0; rank < 20; ++rank)
    view.deviating.push_back({.rank = rank,
                              .host = "host",
                              .step_ns = 148e6,
                              .busy_ns = 117e6,
                              .wait_ns = 1e6,
                              .peers_busy_ns = 90e6,
                              .excess_ns = 27e6});
  view.deviating[0].silent = true;
  view.ranks_deviating = 20;
  view.ranks_shown = 1'024;
  for (uint32_t i = 0; i < 20; ++i)
    view.waits.push_back({.waiting = i, .waited_for = 6, .wait_ns = 31.5e6});
  return view;
}

std::string Text(const JobView& view, const JobViewTextOptions& options) {
  return absl::StrJoin(JobViewText(view, "node", options), "\n");
}

TEST(JobViewText, FitsIntoAnyScreen) {
  for (const size_t columns : {1u, 20u, 60u, 200u}) {
    for (const size_t rows : {1u, 5u, 24u, 100u}) {
      for (JobView view : {View(), JobView()}) {
        view.held = {{.stage = "summarize", .records = 7, .seconds = 60}};
        const std::vector<std::string> lines =
            JobViewText(view, "node", {.size = {columns, rows}, .utf8 = true});
        EXPECT_LE(lines.size(), rows) << columns;
        for (const std::string& line : lines)
          EXPECT_LE(CharacterCount(line), columns) << columns << "x" << rows << ": " << line;
      }
    }
  }
}

TEST(JobViewText, ShowsOfEachListAPart) {
  const std::string text = Text(View(), {.size = {100, 30}});
  EXPECT_THAT(text, HasSubstr("job night  running  8 of 8 ranks  window steps-12"));
  EXPECT_THAT(text, HasSubstr("step 99: 148 ms, busy 90.0 ms; longest busy: rank 6, 117 ms"));
  EXPECT_THAT(text, HasSubstr("of 25 shown)\n[critical] Rank 6 holds 7 other ranks up\n"));
  EXPECT_THAT(text, HasSubstr("Ranks that differ from their peers by more than 2"));
  EXPECT_THAT(text, HasSubstr(": 20 of 1024\nrank  host"));
  EXPECT_THAT(text, HasSubstr("silent"));
  EXPECT_THAT(text, HasSubstr("+27.0 ms (30 %)"));
  EXPECT_THAT(text, HasSubstr("rank 0 for rank 6: 31.5 ms"));
}

TEST(JobViewText, TheStepsAreALineOfHeights) {
  JobView view = View();
  const std::vector<std::string> plain = JobViewText(view, "node", {.size = {50, 40}});
  EXPECT_THAT(plain, Contains(std::string(49, '_') + "#"));
  const std::vector<std::string> blocks =
      JobViewText(view, "node", {.size = {50, 40}, .utf8 = true});
  EXPECT_THAT(blocks, Contains(::testing::EndsWith("\u2581\u2588")));
}

TEST(JobViewText, AHealthyJobSaysSo) {
  JobView view = View();
  view.findings.clear();
  view.findings_open = 0;
  view.deviating.clear();
  view.ranks_deviating = 0;
  const std::string text = Text(view, {.size = {100, 30}});
  EXPECT_THAT(text, HasSubstr("No open finding\n"));
  EXPECT_THAT(text, HasSubstr("No rank of 1024 differs from its peers by more than 2"));
}

TEST(JobViewText, WhatATransactionHasHeldBackForLongStandsFirst) {
  for (JobView view : {View(), JobView()}) {
    view.held = {{.stage = "align", .records = 9, .seconds = 2},
                 {.stage = "summarize", .records = 1'234, .seconds = 31}};
    const std::vector<std::string> lines = JobViewText(view, "node", {.size = {100, 30}});
    ASSERT_GE(lines.size(), 3U);
    EXPECT_EQ(lines[1],
              "Held back: 1234 records of stage summarize, by a transaction open for 31 s; the log "
              "names it");
    EXPECT_THAT(lines[2], StartsWith(view.job.name.empty() ? "No job yet" : "job night"));
  }
}

TEST(JobViewText, WithoutAJobOrAWindowItSaysWhatIsMissing) {
  const std::vector<std::string> none = JobViewText(JobView(), "node", {});
  ASSERT_THAT(none, SizeIs(2));
  EXPECT_THAT(none[1], StartsWith("No job yet"));
  JobView young;
  young.job.name = "night";
  EXPECT_THAT(Text(young, {}), HasSubstr("No window of the job is in the node's memory yet"));
  EXPECT_THAT(Text(young, {}), HasSubstr("no steps are known yet"));
}

TEST(JobViewText, NoNameDrivesTheTerminalAndColourIsOfSeveritiesAlone) {
  const std::string hostile = "x\n\x1b[2J\r\u202e";
  JobView view = View();
  view.job.name = view.job.state = view.job.newest_window = hostile;
  view.held = {{.stage = hostile, .records = 1, .seconds = 60}};
  for (ViewedFinding& finding : view.findings) finding.title = hostile;
  for (ViewedRank& rank : view.deviating) rank.host = hostile;
  for (const std::string& line : NotEmpty(JobViewText(view, hostile, {.size = {100, 40}})))
    EXPECT_EQ(line, Printable(line));
  EXPECT_THAT(Text(View(), {.size = {100, 40}}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(Text(View(), {.size = {100, 40}, .color = true}),
              HasSubstr("\x1b[1;31m[critical]\x1b[0m Rank 6"));
}

}  // namespace
}  // namespace eroica

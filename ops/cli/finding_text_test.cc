#include "ops/cli/finding_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string>

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Finding LateRank() {
  Finding finding;
  finding.id = "0123456789abcdef0123456789abcdef";
  finding.job = JobId{"dlrm"};
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = "late_arrival";
  finding.severity = Severity::kMajor;
  finding.confidence = 0.5;
  finding.first_step = finding.last_step = 12;
  finding.culprits = {{7, "gpu-7", 3, -1}};
  finding.victims = {{RankId{0}, 1'000'000, 1e6}, {RankId{1}, 7'625'000, 7.625e6}};
  finding.function = "embedding_bag";
  finding.stack = "train > forward";
  finding.function_class = FunctionClass::kGpuCompute;
  finding.evidence = {{"arrived_last", "count", 5, 0.5, 1, 8},
                      {"caused_wait", "ns", 9.1e6, 2e5, 0, 8},
                      {"p_value", "probability", 1.2e-4, 0.5, 0.01, 8}};
  finding.chain = {{7, "rank 7 ran embedding_bag", 0},
                   {1, "rank 1 waited 7.62 ms in all_to_all", 7'625'000}};
  finding.lost_ns_per_step = 7.625e6;
  finding.lost_gpu_seconds_per_hour = 15'300.2;
  finding.title = "Rank 7 arrived last at 5 of 8 collectives.";
  finding.explanation = "Because.";
  finding.suggested_action = "Capture more steps.";
  finding.caveats = {"One single step.", "Another."};
  finding.events = 26'731;
  finding.ranks_seen = 8;
  finding.world_size = 8;
  return finding;
}

TEST(FindingText, SaysEverything) {
  EXPECT_EQ(FindingText(LateRank()), R"([major] Rank 7 arrived last at 5 of 8 collectives.

  job         dlrm
  who         rank 7 (host gpu-7, device 3)
  ran         embedding_bag (gpu_compute)
              called by train > forward
  cost        7.62 ms a step, the work of 4.25 of 8 ranks
  victims     rank 1 lost 7.62 ms, rank 0 lost 1.00 ms
  evidence                  culprit   peers  threshold  samples
              arrived last        5     0.5          1        8
              caused wait   9.10 ms  200 us          -        8
              p value       0.00012     0.5       0.01        8
  chain       rank 7 ran embedding_bag
              -> rank 1 waited 7.62 ms in all_to_all
  why         Because.
  caveats     One single step.
              Another.
  confidence  0.50, step 12, 8 of 8 ranks seen, 26731 events, none lost
  next        Capture more steps.
  kind        slow_rank (late arrival)
  id          0123456789abcdef0123456789abcdef opened
)");
}

TEST(FindingText, SaysWhenInTheLocalTimeZone) {
  ::setenv("TZ", "UTC-1", 1);  // an hour east
  ::tzset();
  Finding finding = LateRank();
  finding.first_seen_ns = 1'799'999'990'000'000'000;
  finding.last_seen_ns = 1'800'000'000'123'000'000;
  const std::string text = FindingText(finding);
  EXPECT_THAT(text, HasSubstr("\n  first seen  2027-01-15 08:59:50 +01:00\n"));
  EXPECT_THAT(text, HasSubstr("\n  last seen   2027-01-15 09:00:00 +01:00\n"));
  EXPECT_THAT(TimedFindingLine(finding), StartsWith("2027-01-15 09:00:00 +01:00 major    0123"));
  finding.first_seen_ns = finding.last_seen_ns = 5'000'000'000;  // of a trace that begins with 0
  EXPECT_THAT(FindingText(finding), Not(HasSubstr("seen  ")));
  EXPECT_EQ(TimedFindingLine(finding), FindingLine(finding));
}

TEST(FindingText, OnlyTheSeverityIsColored) {
  const std::string colored = FindingText(LateRank(), {.color = true});
  EXPECT_THAT(colored, StartsWith("\x1b[31m[major]\x1b[0m Rank 7"));
  EXPECT_EQ("[major]" + colored.substr(colored.find("m Rank") + 1), FindingText(LateRank()));
  EXPECT_THAT(FindingLine(LateRank(), true), StartsWith("\x1b[31mmajor\x1b[0m    0123"));
}

TEST(FindingText, EvidenceThatFitsNoTableIsAList) {
  const std::string text = FindingText(LateRank(), {.width = 60});
  EXPECT_THAT(text, HasSubstr("arrived last: culprit 5, peers 0.5,"));
  EXPECT_THAT(FindingText(LateRank(), {.width = 80}), HasSubstr("arrived last        5"));
}

TEST(FindingText, UnitsAreThoseThatFit) {
  EXPECT_EQ(MeasureText(0.0348, "GB/s"), "34.8 MB/s");
  EXPECT_EQ(MeasureText(1.5e9, "bytes"), "1.5 GB");
  EXPECT_EQ(MeasureText(12, "count"), "12");
}

TEST(FindingText, WhatIsOfTheNewestWindowAloneSaysSo) {
  Finding finding = LateRank();
  EXPECT_THAT(FindingText(finding), Not(HasSubstr("newest window")));
  finding.last_window = 3;
  EXPECT_THAT(FindingText(finding), HasSubstr("rank 0 lost 1.00 ms (in the newest window)\n"));
}

TEST(FindingText, LeavesOutWhatIsNotKnown) {
  Finding finding;
  finding.title = "All ranks are equally slow.";
  finding.last_window = 3;
  const std::string text = FindingText(finding);
  for (const char* label :
       {"ran ", "cost", "victims", "evidence", "chain", "why", "caveats", "next", "who"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("  ") + label))) << label;
  }
  EXPECT_THAT(text, HasSubstr("windows 0 to 3"));
}

TEST(FindingText, SumsUpManyVictims) {
  Finding finding = LateRank();
  finding.victims.clear();
  for (uint32_t rank = 0; rank < 100; ++rank)
    finding.victims.push_back({RankId{rank}, 1'000'000, 0});
  EXPECT_THAT(FindingText(finding, {.width = 1'000, .victims_max = 2}),
              HasSubstr("rank 0 lost 1.00 ms, rank 1 lost 1.00 ms and 98 more 98.0 ms together\n"));
}

TEST(FindingText, NoLineIsLongerThanTheWidth) {
  Finding finding = LateRank();
  for (int i = 0; i < 50; ++i) finding.stack += " > frame_" + std::to_string(i);
  finding.explanation =
      finding.title + finding.title + finding.title + finding.title + finding.title;
  for (const size_t width : {60u, 80u, 200u}) {
    std::istringstream lines(FindingText(finding, {.width = width}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
}

TEST(FindingText, AHangFromDumpsHasNoDurations) {
  Finding finding = LateRank();
  finding.kind = FindingKind::kHang;
  finding.events = 0;
  finding.victims[0].lost_ns = 2'000'000'000;
  const std::string text = FindingText(finding);
  EXPECT_THAT(text, HasSubstr("rank 0 lost 2.00 s, rank 1 waits\n"));
  EXPECT_THAT(text, HasSubstr("8 of 8 ranks seen\n")) << "its evidence are no events";
}

TEST(FindingText, AWholeClassIsNamedOnce) {
  Finding finding = LateRank();
  finding.function = "every gpu_compute function";
  EXPECT_THAT(FindingText(finding),
              HasSubstr("  ran         everything of the class gpu_compute\n"));
}

TEST(FindingText, LinksAndLossAreNamed) {
  Finding finding = LateRank();
  finding.culprits = {{2, "", -1, 5}, {-1, "switch-1", -1, -1}};
  finding.events_lost = 17;
  EXPECT_THAT(FindingText(finding),
              HasSubstr("rank 2 and its link to rank 5, no rank (host switch-1)"));
  EXPECT_THAT(FindingText(finding), HasSubstr("26731 events, 17 lost"));
}

TEST(FindingLine, IsOneLine) {
  EXPECT_EQ(
      FindingLine(LateRank()),
      "major    0123456789ab opened   job dlrm: Rank 7 arrived last at 5 of 8 collectives.\n");
}

// Every text of a finding is made of names that somebody outside has chosen.
TEST(FindingText, HostileNamesForgeNoLineAndDriveNoTerminal) {
  const std::string hostile = "x\n[critical] \x1b[2J\r\u202e\xff" + std::string(5'000, 'y');
  Finding finding = LateRank();
  for (std::string* text :
       {&finding.id, &finding.job.value, &finding.subkind, &finding.function, &finding.stack,
        &finding.title, &finding.explanation, &finding.suggested_action, &finding.caveats[0],
        &finding.culprits[0].host, &finding.evidence[0].name, &finding.chain[0].description})
    *text = hostile;
  const std::string in_full = FindingText(finding);
  const std::string line = FindingLine(finding);
  for (const std::string& text : {in_full, line}) {
    EXPECT_THAT(text, HasSubstr("\\n[critical]"));
    EXPECT_THAT(text, HasSubstr("\\x1b[2J\\r\\u202e\\xff"));
    EXPECT_THAT(text, Not(HasSubstr("\n[critical]")));
    EXPECT_THAT(text, Not(HasSubstr("\u202e")));
    for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << int{c};
  }
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
}

}  // namespace
}  // namespace eroica

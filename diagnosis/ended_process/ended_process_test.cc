#include "diagnosis/ended_process/ended_process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace eroica {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

RankStanding Ended(ProcessEnd end) {
  RankStanding standing;
  standing.job = JobId{"job"};
  standing.rank = RankId{2};
  standing.world_size = 4;
  standing.host = "node-7";
  standing.device = 2;
  standing.pid = 4711;
  standing.time_ns = 1000 * kSecond;
  standing.last_progress_ns = 999 * kSecond + kSecond / 2;
  standing.window_kind = WindowKind::kSteps;
  standing.window_index = 4;
  standing.step = 137;
  standing.function = "train.py(41): load";
  standing.end = end;
  return standing;
}

Finding FindingOfEnd(ProcessEnd end) {
  const std::optional<Finding> finding = FindEndedProcess(Ended(end), 4);
  EXPECT_TRUE(finding.has_value());
  return finding.value_or(Finding());
}

TEST(EndedProcess, SaysRankHowWhereAndWhen) {
  const Finding finding = FindingOfEnd({.signal = SIGKILL});
  EXPECT_EQ(finding.title,
            "The process of rank 2 was killed by SIGKILL in step 137, its training thread in "
            "train.py(41): load.");
  EXPECT_EQ(finding.explanation,
            "Process 4711 of rank 2 on node-7 was killed by SIGKILL in step 137, its training "
            "thread in train.py(41): load. The 3 other ranks cannot complete a collective without "
            "it: what ended or stood after it did so because of it. It was last seen to progress "
            "500 ms before.");
  EXPECT_EQ(finding.subkind, "ended_process");
  EXPECT_EQ(finding.severity, Severity::kCritical);
  ASSERT_EQ(finding.culprits.size(), 1u);
  EXPECT_EQ(finding.culprits[0], (Culprit{.rank = 2, .host = "node-7", .device = 2, .peer = -1}));
  EXPECT_EQ(finding.first_step, 137);
  EXPECT_EQ(finding.first_window, 4);
  EXPECT_EQ(finding.first_seen_ns, 1000 * kSecond);
  EXPECT_EQ(finding.world_size, 4u);
  EXPECT_EQ(finding.function, "train.py(41): load");
  EXPECT_TRUE(finding.caveats.empty());
  EXPECT_FALSE(finding.id.empty());
}

TEST(EndedProcess, EachWayToEndHasItsWordsAndItsAdvice) {
  const Finding memory = FindingOfEnd({.signal = SIGKILL, .out_of_memory = true});
  EXPECT_NE(memory.title.find("when the kernel ran out of memory"), std::string::npos);
  EXPECT_NE(memory.suggested_action.find("more memory"), std::string::npos);
  const Finding crash = FindingOfEnd({.signal = SIGSEGV});
  EXPECT_NE(crash.title.find("crashed by SIGSEGV"), std::string::npos);
  EXPECT_NE(crash.suggested_action.find("PYTHONFAULTHANDLER"), std::string::npos);
  const Finding code = FindingOfEnd({.exit_code = 3});
  EXPECT_NE(code.title.find("ended with exit code 3"), std::string::npos);
  EXPECT_NE(code.suggested_action.find("traceback"), std::string::npos);
  const Finding realtime = FindingOfEnd({.signal = 40});
  EXPECT_NE(realtime.title.find("was killed by signal 40"), std::string::npos);
}

TEST(EndedProcess, ErrorsOfDevicesOnlyWhereTheRankHasOne) {
  RankStanding standing = Ended({.signal = SIGSEGV});
  const auto names_devices = [&] {
    return FindEndedProcess(standing, 4)->suggested_action.find("Xid") != std::string::npos;
  };
  EXPECT_TRUE(names_devices());
  standing.device = -1;
  EXPECT_FALSE(names_devices());
  standing.communicators = {{.id = CommId{1}, .library = CollectiveLibrary::kGloo}};
  EXPECT_FALSE(names_devices());
  standing.communicators.push_back({.id = CommId{2}, .library = CollectiveLibrary::kNccl});
  EXPECT_TRUE(names_devices());
}

TEST(EndedProcess, WhatTheLauncherTookIsNotKnown) {
  const Finding finding = FindingOfEnd({});
  EXPECT_NE(finding.title.find("The process of rank 2 ended in step 137"), std::string::npos);
  EXPECT_LT(finding.confidence, 0.9);
  ASSERT_EQ(finding.caveats.size(), 1u);
}

TEST(EndedProcess, SaysAfterAStepThatIsOver) {
  RankStanding standing = Ended({.signal = SIGKILL});
  standing.step_mean_ns = standing.stalled_ns();
  EXPECT_NE(FindEndedProcess(standing, 4)->title.find(" in step 137"), std::string::npos);
  standing.step_mean_ns = standing.stalled_ns() - 1;
  EXPECT_NE(FindEndedProcess(standing, 4)->title.find(" after step 137"), std::string::npos);
}

TEST(EndedProcess, SaysNoStepWhereNoneIsKnown) {
  RankStanding standing = Ended({.exit_code = 1});
  standing.step = -1;
  standing.function.clear();
  standing.last_progress_ns = standing.time_ns;
  standing.world_size = 1;
  const std::optional<Finding> finding = FindEndedProcess(standing, 2);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->title, "The process of rank 2 ended with exit code 1.");
  EXPECT_NE(finding->explanation.find("The other rank cannot"), std::string::npos);
}

// A launcher's host sends it where others failed for want of it.
TEST(EndedProcess, ARankThatLeftWithSuccessSaysSo) {
  const Finding finding = FindingOfEnd({.exit_code = 0});
  EXPECT_NE(finding.title.find("ended with exit code 0 in step 137"), std::string::npos);
  EXPECT_NE(finding.title.find(", before the others."), std::string::npos);
  EXPECT_NE(finding.suggested_action.find("fewer batches"), std::string::npos);
  EXPECT_LT(finding.confidence, 0.9);
  ASSERT_EQ(finding.caveats.size(), 1u);
  EXPECT_NE(finding.caveats[0].find("That others failed"), std::string::npos);
  RankStanding of_two = Ended({.exit_code = 0});
  of_two.world_size = 2;
  of_two.rank = RankId{1};
  EXPECT_NE(FindEndedProcess(of_two, 2)->caveats[0].find("That the other one failed"),
            std::string::npos);
}

TEST(EndedProcess, TheFirstOfThoseThatOneSignalEndedIsSaidToBe) {
  const Finding finding = FindingOfEnd(
      {.signal = SIGTERM,
       .job_failure = JobFailure{
           .exit_code = 1, .ranks = 4, .within_ns = kSecond / 5, .others_untold = true}});
  EXPECT_EQ(finding.title,
            "The process of rank 2 was ended by SIGTERM in step 137, its training thread in "
            "train.py(41): load, the first of 4 within 200 ms.");
  EXPECT_DOUBLE_EQ(finding.confidence, 0.5);
  ASSERT_EQ(finding.caveats.size(), 1u);
  EXPECT_NE(finding.caveats[0].find("A scheduler or a person"), std::string::npos);
}

TEST(EndedProcess, WhereTheOrderIsNotKnownNobodyIsNamed) {
  EXPECT_FALSE(FindEndedProcess(
      Ended({.signal = SIGTERM, .job_failure = JobFailure{.exit_code = 1, .ranks = 4}}), 4));
}

TEST(EndedProcess, ProcessesThatLiveAreNone) {
  RankStanding lives = Ended({});
  lives.end.reset();
  EXPECT_FALSE(FindEndedProcess(lives, 4));
}

TEST(EndedProcess, TheFirstExplainsTheOthers) {
  const Finding first = FindingOfEnd({.signal = SIGKILL});
  RankStanding other = Ended({.exit_code = 1});
  EXPECT_FALSE(IsExplainedBy(first, other)) << "it is the same rank";
  other.rank = RankId{3};
  EXPECT_TRUE(IsExplainedBy(first, other));
  other.time_ns = first.first_seen_ns - 1;
  EXPECT_FALSE(IsExplainedBy(first, other)) << "it ended before";
  other.time_ns = first.first_seen_ns + kSecond;
  other.end->started_ns = first.first_seen_ns + 1;
  EXPECT_FALSE(IsExplainedBy(first, other)) << "it began after the job was started again";
  other.end->started_ns = first.first_seen_ns - 1;
  EXPECT_TRUE(IsExplainedBy(first, other));
  Finding slow = first;
  slow.subkind = "function";
  other.time_ns = first.first_seen_ns;
  EXPECT_FALSE(IsExplainedBy(slow, other));
}

// A rank that waits in a hang ends when its collective times out: the hang says why.
TEST(EndedProcess, AHangExplainsTheRanksThatWaitInIt) {
  RankStanding waits = Ended({.exit_code = 1});
  waits.rank = RankId{3};
  Finding hang;
  hang.kind = FindingKind::kHang;
  hang.subkind = "never_launched";
  hang.culprits = {{.rank = 2}};
  hang.victims = {{.rank = RankId{0}}, {.rank = RankId{3}}};
  hang.first_seen_ns = waits.time_ns - 20 * kSecond;
  waits.end->started_ns = hang.first_seen_ns - kSecond;
  EXPECT_TRUE(IsExplainedBy(hang, waits));
  waits.end->exit_code = -1;
  for (const auto& [signal, explained] : {std::pair(SIGABRT, true), {SIGKILL, false}}) {
    waits.end->signal = signal;
    EXPECT_EQ(IsExplainedBy(hang, waits), explained) << "out of memory is another fault " << signal;
  }
  waits.end = ProcessEnd{.exit_code = 1, .started_ns = hang.first_seen_ns - kSecond};
  waits.rank = RankId{2};
  EXPECT_FALSE(IsExplainedBy(hang, waits)) << "it is who the others wait for";
  waits.rank = RankId{3};
  hang.kind = FindingKind::kSlowRank;
  EXPECT_FALSE(IsExplainedBy(hang, waits));
}

}  // namespace
}  // namespace eroica

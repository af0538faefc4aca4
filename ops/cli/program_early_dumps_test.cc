// The program over dumps that do not show how long what is in flight had stood, and that do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/cli/diagnosed_dumps.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "producers/import/made_dumps.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kNobody = -1;
constexpr int64_t kCopiedMs = 60'000;  // within the limit

struct Written {
  int64_t at_ms = 0;
  int late_rank = kNobody;
  // Launched by the late rank in a group of its own, at this time; 0: it launched nothing more.
  int64_t elsewhere_ms = 0;
  bool retired = false;
};

// Four ranks in the same all-reduce, which all but the late one launched 4 ms after the beginning.
SaidOfDumps Diagnosed(const Written& written) {
  const ScratchDirectory folder;
  for (int rank = 0; rank < 4; ++rank) {
    const bool late = rank == written.late_rank;
    std::vector<MadeGroup> groups = {MadeGroup()};
    if (late) groups.push_back({.name = "7", .description = "own", .ranks = "[2]"});
    MadeDump dump(groups);
    dump.Ended(3);
    if (!late) {
      dump.Add({.sequence = 4, .state = "scheduled", .retired = written.retired, .timed = true});
    } else if (written.elsewhere_ms > 0) {
      dump.Add({.group = "7", .description = "own", .at_ms = written.elsewhere_ms});
    }
    dump.WriteAt(folder.path() + "/nccl_trace_rank_" + std::to_string(rank), written.at_ms);
  }
  return DiagnoseDumps(folder.path());
}

void ExpectNotShown(const SaidOfDumps& said, const std::string& says) {
  EXPECT_THAT(said.findings, IsEmpty()) << said.title();
  EXPECT_EQ(said.exit_code, kExitCannotTell);
  EXPECT_THAT(said.text, HasSubstr("Nothing shows how long"));
  EXPECT_THAT(said.text, HasSubstr("Take the dumps again"));
  EXPECT_THAT(said.text, HasSubstr(says));
}

TEST(ProgramOverEarlyDumps, AJobThatRunsIsNoHang) {
  for (const int late_rank : {kNobody, 2})
    ExpectNotShown(Diagnosed({.at_ms = 20, .late_rank = late_rank}), "written at most 16 ms after");
}

// A file that was copied without its time is as old as the copy.
TEST(ProgramOverEarlyDumps, WithinTheLimitTheTimeOfAFileProvesNothing) {
  for (const int late_rank : {kNobody, 2}) {
    ExpectNotShown(Diagnosed({.at_ms = kCopiedMs, .late_rank = late_rank}),
                   "whose limit is 600.0 s");
  }
}

TEST(ProgramOverEarlyDumps, WhoHasNotLaunchedTheOldestIsSaid) {
  ExpectNotShown(Diagnosed({.at_ms = kCopiedMs, .late_rank = 2}),
                 "all_reduce number 4 of group 0, which ranks 0, 1 and 3 launched, and rank 2 did "
                 "not.");
}

TEST(ProgramOverEarlyDumps, AFileFromBeforeTheLaunchHasNoTimeOfItsOwn) {
  ExpectNotShown(Diagnosed({.at_ms = 1, .late_rank = 2}), "are from before it");
}

TEST(ProgramOverEarlyDumps, WhatTheWatchdogWroteIsAHang) {
  const SaidOfDumps said = Diagnosed({.at_ms = MadeDump::kLimitMs + 5'000, .late_rank = 2});
  EXPECT_THAT(said.culprits, ElementsAre(2));
  EXPECT_THAT(said.text, Not(HasSubstr("copies")));
  EXPECT_EQ(said.findings[0].at("severity"), "critical");
}

TEST(ProgramOverEarlyDumps, FarBeyondTheLimitItIsSaidThatFilesSeemToBeCopies) {
  const SaidOfDumps said = Diagnosed({.at_ms = 24 * 3'600'000, .late_rank = 2});
  EXPECT_THAT(said.culprits, ElementsAre(2));
  EXPECT_THAT(said.text, HasSubstr("far beyond the limit of what is in flight, 600.0 s"));
  EXPECT_THAT(said.text, HasSubstr("the times of copies"));
  EXPECT_EQ(said.findings[0].at("severity"), "minor");
  EXPECT_LE(said.confidence(), 0.5);
}

// The rank that never launched it has launched something else a minute later, whatever the time of
// its file.
TEST(ProgramOverEarlyDumps, ALaterEntryOfTheAbsentRankShowsAHang) {
  const SaidOfDumps said =
      Diagnosed({.at_ms = kCopiedMs + 1'000, .late_rank = 2, .elsewhere_ms = kCopiedMs});
  EXPECT_THAT(said.culprits, ElementsAre(2));
  ExpectNotShown(Diagnosed({.at_ms = kCopiedMs, .late_rank = 2, .elsewhere_ms = 40}), "rank 2");
}

TEST(ProgramOverEarlyDumps, WhatTheRecorderSawTimeOutIsAHang) {
  const SaidOfDumps said = Diagnosed({.at_ms = kCopiedMs, .late_rank = 2, .retired = true});
  EXPECT_THAT(said.culprits, ElementsAre(2));
}

// Whenever they were written: another size, or another operation under the same number.
TEST(ProgramOverEarlyDumps, PlansThatDisagreeNeverMeet) {
  for (const MadeEntry& odd :
       {MadeEntry{.in = 500, .out = 500}, MadeEntry{.name = "nccl:_all_gather_base"}}) {
    const ScratchDirectory folder;
    for (int rank = 0; rank < 4; ++rank) {
      MadeDump dump;
      dump.Ended(3).Open(4, rank == 2 ? odd : MadeEntry());
      dump.WriteAt(folder.path() + "/nccl_trace_rank_" + std::to_string(rank), kCopiedMs);
    }
    const SaidOfDumps said = DiagnoseDumps(folder.path());
    EXPECT_EQ(said.subkind(), "mismatch") << said.text;
    EXPECT_THAT(said.culprits, ElementsAre(2));
  }
}

}  // namespace
}  // namespace eroica

// The program over flight-recorder dumps of the field: batches in a ring, what gloo gave up, sizes
// that do not agree, missing ranks, names, and folders of several attempts.
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
using ::testing::SizeIs;

// A send to the next rank and a receive from the one before, in one batch.
void AddRingBatch(MadeDump& dump, int rank, int ranks, int sequence, const std::string& state) {
  dump.Open(sequence,
            {.name = fmt::format("nccl:send {}->{}", rank, (rank + 1) % ranks), .p2p = true});
  dump.Open(sequence, {.name = fmt::format("nccl:recv {}<-{}", rank, (rank + ranks - 1) % ranks),
                       .p2p = true});
  dump.Add({.name = "nccl:coalesced",
            .sequence = sequence,
            .state = state,
            .retired = state == "completed",
            .p2p = true,
            .in = 0,
            .out = 0});
}

// Context parallelism: each batch waits for that of the next rank, all round to the one that is
// absent. Ends that both ranks launched are no link that stands.
TEST(ProgramOverFieldDumps, InARingOfBatchesTheAbsentRankAloneIsNamed) {
  constexpr int kRanks = 6;
  const DumpFolder dumps;
  for (int rank = 0; rank < kRanks; ++rank) {
    MadeDump dump({{.ranks = "[0, 1, 2, 3, 4, 5]"}});
    AddRingBatch(dump, rank, kRanks, 1, "completed");
    if (rank != 3) AddRingBatch(dump, rank, kRanks, 2, "scheduled");
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_THAT(said.culprits, ElementsAre(3));
  EXPECT_THAT(said.findings, SizeIs(1));
  EXPECT_EQ(said.findings.at(0).at("victims").size(), 5);
}

TEST(ProgramOverFieldDumps, InARingThatAllEnteredNobodyIsAbsent) {
  constexpr int kRanks = 4;
  const DumpFolder dumps;
  for (int rank = 0; rank < kRanks; ++rank) {
    MadeDump dump;
    AddRingBatch(dump, rank, kRanks, 1, "completed");
    AddRingBatch(dump, rank, kRanks, 2, "scheduled");
    dumps.Write(rank, dump);
  }
  EXPECT_EQ(dumps.Diagnosed().subkind(), "stalled");
}

const MadeEntry kOverGloo{.name = "gloo:all_reduce", .state = "scheduled"};
const MadeEntry kBroadcastOverGloo{.name = "gloo:broadcast", .state = "scheduled"};
const MadeEntry kBarrierOverGloo{.name = "gloo:barrier", .state = "scheduled"};

MadeEntry Numbered(MadeEntry entry, int sequence, bool retired) {
  entry.sequence = sequence;
  entry.retired = retired;
  return entry;
}

// The root gives the broadcast up as well, and launches nothing more.
TEST(ProgramOverFieldDumps, ARootThatGaveItsBroadcastUpNeverLeftIt) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dump.Ended(10, kOverGloo);
    if (rank != 2) dump.Add(Numbered(kBroadcastOverGloo, 11, true));
    if (rank == 1 || rank == 3) dump.Add(Numbered(kOverGloo, 12, false));
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_THAT(said.culprits, ElementsAre(2));
  EXPECT_THAT(said.findings, SizeIs(1));
}

// All gave it up, so that nothing is watched any more.
TEST(ProgramOverFieldDumps, DifferentOperationsOverGlooNeverMeet) {
  for (const bool all_continued : {false, true}) {
    SCOPED_TRACE(all_continued);
    const DumpFolder dumps;
    for (int rank = 0; rank < 4; ++rank) {
      MadeDump dump;
      dump.Ended(10, kOverGloo).Add(Numbered(rank == 0 ? kBarrierOverGloo : kOverGloo, 11, true));
      if (all_continued) dump.Add(Numbered(kOverGloo, 12, true));
      dumps.Write(rank, dump);
    }
    const SaidOfDumps said = dumps.Diagnosed();
    if (all_continued) {
      EXPECT_THAT(said.findings, IsEmpty()) << said.title();
      EXPECT_EQ(said.exit_code, kExitCannotTell);
    } else {
      EXPECT_EQ(said.subkind(), "mismatch");
      EXPECT_THAT(said.culprits, ElementsAre(0));
    }
  }
}

TEST(ProgramOverFieldDumps, AllGiveOneSizeToAGatherAndTakeOneOfAScatter) {
  for (const std::string name : {"gather", "scatter"}) {
    for (const bool odd : {false, true}) {
      SCOPED_TRACE(name + (odd ? ", rank 1 another size" : ""));
      const DumpFolder dumps;
      for (int rank = 0; rank < 4; ++rank) {
        const int64_t share = odd && rank == 1 ? 78 : 77, whole = rank == 0 ? 4 * 77 : 0;
        MadeDump dump;
        dump.Ended(10).Open(11, {.name = "nccl:" + name,
                                 .in = name == "gather" ? share : whole,
                                 .out = name == "gather" ? whole : share});
        dumps.Write(rank, dump);
      }
      const SaidOfDumps said = dumps.Diagnosed();
      EXPECT_EQ(said.subkind(), odd ? "mismatch" : "stalled");
      EXPECT_EQ(said.culprits, odd ? std::vector<int>{1} : std::vector<int>{});
    }
  }
}

TEST(ProgramOverFieldDumps, OfTwoSidesTheSizesAreSaid) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank)
    dumps.Write(rank, MadeDump().Ended(10).Open(11, {.in = rank < 2 ? 1000 : 999}));
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.confidence(), 0.5);
  EXPECT_THAT(said.title(), HasSubstr("sizes that do not agree"));
  EXPECT_THAT(said.text, HasSubstr("ranks 0 and 1 with 4000 bytes"));
  EXPECT_THAT(said.text, HasSubstr("ranks 2 and 3 with 3996 bytes"));
}

// Ranks 0 and 1 have no dump, and rank 2 waits for them: rank 4 holds up more.
TEST(ProgramOverFieldDumps, RanksWithoutADumpAreNotBlamedBesideALargerHang) {
  const std::vector<MadeGroup> groups = {{.name = "1", .description = "dp", .ranks = "[0, 1, 2]"},
                                         {.name = "2", .description = "tp", .ranks = "[3, 4, 5]"}};
  const DumpFolder dumps;
  for (int rank = 2; rank < 6; ++rank) {
    MadeDump dump({groups[rank > 2 ? 1 : 0]});
    const MadeEntry entry{.group = rank > 2 ? "2" : "1", .description = rank > 2 ? "tp" : "dp"};
    dump.Ended(10, entry);
    if (rank != 4) dump.Open(11, entry);
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_THAT(said.culprits, ElementsAre(4));
  EXPECT_THAT(said.findings, SizeIs(1));
  EXPECT_THAT(said.text, HasSubstr("ranks 0 and 1 of 6 are not recorded"));
}

TEST(ProgramOverFieldDumps, WhatAllNamesEndInIsNoRank) {
  for (const std::string end : {"_step_100", "_1790000000", "_attempt_2.pkl"}) {
    SCOPED_TRACE(end);
    const DumpFolder dumps;
    for (int rank = 0; rank < 4; ++rank) {
      MadeDump dump;
      dump.Ended(20);
      if (rank != 2) dump.Open(21);
      dumps.Write("trace_rank_" + std::to_string(rank) + end, dump);
    }
    EXPECT_THAT(dumps.Diagnosed().culprits, ElementsAre(2));
  }
}

// The first attempt launched more, and rank 1 was to blame there.
TEST(ProgramOverFieldDumps, OfTwoWholeAttemptsTheNewestIsRead) {
  constexpr int64_t kHourMs = 3'600'000;
  const DumpFolder dumps;
  for (const int attempt : {1, 2}) {
    for (int rank = 0; rank < 4; ++rank) {
      MadeDump dump;
      dump.later_ms = attempt * kHourMs;
      const int last = attempt == 1 ? 30 : 5;
      dump.Ended(last);
      if (rank != attempt) dump.Open(last + 1);
      dumps.Write(fmt::format("attempt{}_rank{}.json", attempt, rank), dump);
    }
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_THAT(said.culprits, ElementsAre(2));
  EXPECT_THAT(said.text, HasSubstr("4 of 8 files are of another attempt"));
  EXPECT_THAT(said.text, Not(HasSubstr("counts as a rank without a dump")));
}

// A dump does not say until when a rank stood, and its numbers begin with 1.
TEST(ProgramOverFieldDumps, WhatDumpsDoNotSayIsNotSaid) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dump.later_ms = rank * 7;
    dump.Ended(20);
    if (rank != 3) dump.Open(21);
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  ASSERT_THAT(said.findings, SizeIs(1));
  for (const nlohmann::json& row : said.findings[0].at("evidence")) {
    if (row.at("name") != "launched") continue;
    EXPECT_EQ(row.at("culprit"), 20);
    EXPECT_EQ(row.at("peers"), 21);
  }
  EXPECT_THAT(said.text, Not(HasSubstr(" ms together")));
  EXPECT_THAT(said.text, Not(HasSubstr("no collectives")));
}

}  // namespace
}  // namespace eroica

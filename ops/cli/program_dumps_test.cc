// The program over flight-recorder dumps: made ones of each kind of standstill and their siblings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
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

const MadeEntry kGloo{.name = "gloo:all_reduce", .state = "scheduled"};
const std::vector<MadeGroup> kNameless = {{.name = "", .description = ""}};

// A batch to and from each peer, numbered as PyTorch does, and the entry behind it with this
// state.
void AddBatch(MadeDump& dump, int own, const std::vector<int>& peers, int sequence,
              const std::string& state) {
  for (const int peer : peers) {
    for (const auto& [word, arrow] : {std::pair("send", "->"), std::pair("recv", "<-")}) {
      dump.Open(sequence,
                {.name = fmt::format("nccl:{} {}{}{}", word, own, arrow, peer), .p2p = true});
    }
  }
  dump.Add({.name = "nccl:coalesced",
            .sequence = sequence,
            .state = state,
            .retired = state == "completed",
            .p2p = true,
            .in = 0,
            .out = 0});
}

// Ten operations over gloo like the first entry, and number 11 like the second one.
MadeDump ElevenOverGloo(const MadeEntry& ended, MadeEntry last) {
  last.sequence = 11;
  return MadeDump(kNameless).Ended(10, ended).Add(last);
}

std::vector<int> NeighborsOf(int rank, int ranks) {
  std::vector<int> peers;
  if (rank > 0) peers.push_back(rank - 1);
  if (rank + 1 < ranks) peers.push_back(rank + 1);
  return peers;
}

void ExpectCannotTell(const SaidOfDumps& said) {
  EXPECT_THAT(said.findings, IsEmpty()) << said.title();
  EXPECT_EQ(said.exit_code, kExitCannotTell);
}

// The ranks never launched the operation in which the others wait.
void ExpectAbsent(const SaidOfDumps& said, const std::vector<int>& ranks) {
  EXPECT_EQ(said.subkind(), "never_launched") << said.title();
  EXPECT_EQ(said.culprits, ranks);
}

TEST(ProgramOverDumps, ABatchEndsWithTheEntryBehindIt) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    for (int sequence = 1; sequence <= 3; ++sequence)
      AddBatch(dump, rank, NeighborsOf(rank, 4), sequence, "completed");
    dump.Ended(2);
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  ExpectCannotTell(said);
  EXPECT_THAT(said.text, HasSubstr("Nothing is in flight in any dump"));
}

// Ranks 1 and 3 stand in a batch with rank 2; rank 0 in one with rank 1, which is there.
TEST(ProgramOverDumps, OfABatchThatNobodyClosedTheAbsentRankIsNamed) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    AddBatch(dump, rank, NeighborsOf(rank, 4), 1, "completed");
    if (rank != 2) AddBatch(dump, rank, NeighborsOf(rank, 4), 2, "scheduled");
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  ExpectAbsent(said, {2});
  EXPECT_THAT(said.findings, SizeIs(1));
}

MadeDump Coalesced(int groups) {
  MadeDump dump;
  for (int sequence = 1; sequence <= groups; ++sequence) {
    for (int i = 0; i < 3; ++i) dump.Open(sequence, {.name = "nccl:_all_gather_base", .out = 4000});
    dump.Add({.name = "nccl:coalesced", .sequence = sequence, .in = 0, .out = 0});
  }
  return dump;
}

TEST(ProgramOverDumps, CoalescedCollectivesEndTogether) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump = Coalesced(3);
    if (rank != 2) dump.Open(4, {.name = "nccl:_reduce_scatter_base", .in = 4000});
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  ExpectAbsent(said, {2});
  EXPECT_THAT(said.title(), HasSubstr("reduce_scatter number 4"));
}

TEST(ProgramOverDumps, CoalescedCollectivesThatOneRankNeverLaunched) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump = Coalesced(3);
    if (rank != 1) {
      for (int i = 0; i < 3; ++i) dump.Open(4, {.name = "nccl:_all_gather_base", .out = 4000});
      dump.Open(4, {.name = "nccl:coalesced", .in = 0, .out = 0});
    }
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  ExpectAbsent(said, {1});
}

TEST(ProgramOverDumps, GlooRetiresWhatItGaveUp) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump(kNameless);
    dumps.Write(rank, dump.Ended(rank == 3 ? 10 : 11, kGloo));
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.exit_code, kExitFindings);
  ExpectAbsent(said, {3});
  EXPECT_THAT(said.title(), HasSubstr("all_reduce number 11"));
}

// NCCL looks at what it retires: what is not completed then has timed out.
TEST(ProgramOverDumps, WhatNcclRetiresWithoutAnEndHasTimedOut) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dump.Ended(10);
    if (rank != 0) dump.Add({.sequence = 11, .state = "scheduled", .retired = true});
    dumps.Write(rank, dump);
  }
  EXPECT_THAT(dumps.Diagnosed().culprits, ElementsAre(0));
}

TEST(ProgramOverDumps, WhoCameAfterTheTimeLimitIsSaid) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeEntry last = kGloo;
    last.at_ms = rank == 3 ? 700'000 : 12;  // their limit is 600 s
    dumps.Write(rank, ElevenOverGloo(kGloo, last));
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.exit_code, kExitCannotTell);
  EXPECT_THAT(said.text,
              HasSubstr("Rank 3 entered number 11 of group 0 (default_pg) 700.0 s after"));
}

TEST(ProgramOverDumps, OneRecorderThatWasOffIsNoRankThatNeverLaunched) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    if (rank != 2) dump.Ended(20).Open(21);
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.subkind(), "silent") << said.title();
  EXPECT_THAT(said.text, HasSubstr("without a dump"));
  EXPECT_THAT(said.text, HasSubstr("the recorder was off"));
  EXPECT_THAT(said.text, Not(HasSubstr("reports of progress")));
  EXPECT_LE(said.confidence(), 0.6);
}

TEST(ProgramOverDumps, WithoutAnyEntryItCannotTell) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) dumps.Write(rank, MadeDump());
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.exit_code, kExitCannotTell);
  EXPECT_THAT(said.text, HasSubstr("No dump holds an entry: the recorders were off"));
}

TEST(ProgramOverDumps, OfEmptyFilesItCannotTell) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank)
    std::ofstream(dumps.path() + "/nccl_trace_rank_" + std::to_string(rank));
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.exit_code, kExitCannotTell);
  EXPECT_THAT(said.text, HasSubstr("the file is empty"));
}

// Newer recorders mark gloo's operations that completed: a retired one without it was given up.
TEST(ProgramOverDumps, WhereGlooTellsEndsWhatIsRetiredWithoutOneWasGivenUp) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank)
    dumps.Write(rank, ElevenOverGloo({.name = "gloo:all_reduce"}, kGloo));
  EXPECT_EQ(dumps.Diagnosed().subkind(), "communication");
}

TEST(ProgramOverDumps, ScheduledIsNotStarted) {
  for (const bool timed : {false, true}) {
    const DumpFolder dumps;
    for (int rank = 0; rank < 4; ++rank) {
      MadeDump dump;
      dump.Ended(30, {.timed = timed});
      MadeEntry open{.sequence = 31, .state = "scheduled", .retired = false, .timed = timed};
      if (timed && rank != 1) open.state = "started";
      dump.Add(open).Open(32);
      dumps.Write(rank, dump);
    }
    const SaidOfDumps said = dumps.Diagnosed();
    EXPECT_EQ(said.subkind(), timed ? "device" : "stalled") << said.title();
    if (timed) {
      EXPECT_THAT(said.culprits, ElementsAre(1));
    } else {
      EXPECT_THAT(said.culprits, IsEmpty());
      EXPECT_LE(said.confidence(), 0.5);
      EXPECT_THAT(said.text, HasSubstr("TORCH_NCCL_ENABLE_TIMING=1"));
    }
  }
}

// Over gloo no device takes part: what is in flight on all ranks runs, whether or not the starts of
// NCCL's operations are known.
TEST(ProgramOverDumps, BesideNcclWithoutStartsGlooStandsInTheTransfer) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump device;
    dumps.Write(rank, device.Ended(30));
    MadeDump host(kNameless);
    dumps.Write(rank, host.Ended(4, kGloo).Open(5, kGloo), "fr_rank");
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.subkind(), "communication") << said.title() << said.text;
}

TEST(ProgramOverDumps, OfTwoRecordersOfARankBothAreRead) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump device;
    device.Ended(30);
    if (rank != 2) device.Open(31);
    dumps.Write(rank, device);
    MadeDump host(kNameless);
    host.Ended(4, kGloo);
    if (rank == 2) host.Open(5, kGloo);
    dumps.Write(rank, host, "fr_rank");
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.subkind(), "mismatch") << said.title();
  EXPECT_THAT(said.culprits, ElementsAre(2));
}

TEST(ProgramOverDumps, MembersOfGloosGroupsAreThoseWithEntries) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string pair = rank < 2 ? "1" : "2";
    MadeEntry shard = kGloo;
    shard.group = "3", shard.description = "mesh_shard";
    MadeEntry own = kGloo;
    own.group = pair, own.description = "pair", own.name = "gloo:all_gather";
    MadeDump dump({{.name = "", .description = "", .ranks = rank < 2 ? "[0, 1]" : "[2, 3]"}});
    dump.Ended(5, shard).Ended(5, own);
    // rank 3 is in its pair's next one, and the others are in the shard's
    dumps.Write(rank, rank == 3 ? dump.Open(6, own) : dump.Open(6, shard));
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.subkind(), "mismatch") << said.title();
  EXPECT_THAT(said.culprits, ElementsAre(3));
  EXPECT_THAT(said.text, HasSubstr("rank 3 in all_gather number 6 of group 2 (pair)"));
}

struct Sizes {
  std::string name;
  int64_t in = 1000, out = 1000, odd_in = 1000, odd_out = 1000;
  std::vector<int> culprits;
};
TEST(ProgramOverDumps, SizesThatDisagreeAreAMismatch) {
  for (const Sizes& sizes : {Sizes{"nccl:_all_gather_base", 1000, 4000, 500, 2000, {2}},
                             Sizes{"nccl:_reduce_scatter_base", 4000, 1000, 400, 100, {2}},
                             Sizes{"nccl:all_to_all", 4096, 4096, 512, 512, {2}},
                             Sizes{"nccl:all_to_allv", 4096, 4096, 4096, 512, {2}}}) {
    SCOPED_TRACE(sizes.name);
    const DumpFolder dumps;
    for (int rank = 0; rank < 4; ++rank) {
      MadeDump dump;
      dump.Ended(20, {.name = sizes.name, .in = sizes.in, .out = sizes.out});
      const bool odd = rank == 2;
      dumps.Write(rank, dump.Open(21, {.name = sizes.name,
                                       .in = odd ? sizes.odd_in : sizes.in,
                                       .out = odd ? sizes.odd_out : sizes.out}));
    }
    const SaidOfDumps said = dumps.Diagnosed();
    EXPECT_EQ(said.subkind(), "mismatch") << said.title();
    EXPECT_EQ(said.culprits, sizes.culprits);
  }
}

TEST(ProgramOverDumps, UnevenPlansThatAgreeAreNoMismatch) {
  const DumpFolder dumps;
  const int64_t in[] = {4107, 4076, 4087, 4114};
  const int64_t out[] = {4076, 4107, 4114, 4087};
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dumps.Write(
        rank, dump.Ended(2).Open(3, {.name = "nccl:all_to_all", .in = in[rank], .out = out[rank]}));
  }
  EXPECT_EQ(dumps.Diagnosed().subkind(), "stalled");
}

TEST(ProgramOverDumps, UnevenPlansThatDisagreeBlameNobodyAlone) {
  const DumpFolder dumps;
  const int64_t in[] = {4107, 4076, 4087, 4114};
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dumps.Write(rank, dump.Ended(2).Open(
                          3, {.name = "nccl:all_to_allv", .in = in[rank], .out = 4000 + rank}));
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.subkind(), "mismatch") << said.title();
  EXPECT_LE(said.confidence(), 0.5);
}

TEST(ProgramOverDumps, OneRankAheadHasTwoReadings) {
  const MadeEntry barrier{.name = "nccl:all_reduce_barrier", .in = 1, .out = 1};
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dump.Ended(40);
    MadeEntry last = barrier;
    last.sequence = 41;
    dump.Add(last);
    if (rank == 0) dump.Open(42, barrier);
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_THAT(said.title(), HasSubstr("rank 0 waits in barrier number 42"));
  EXPECT_THAT(said.title(), HasSubstr("it is one ahead, or those are one behind"));
  EXPECT_THAT(said.culprits, ElementsAre(0, 1, 2, 3));
  EXPECT_LE(said.confidence(), 0.5);
}

std::string Frames(const std::string& file, int line, const std::string& function) {
  return fmt::format(
      R"([{{"name":"all_reduce","filename":"/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py","line":4174}},{{"name":"{}","filename":"/job/{}","line":{}}},{{"name":"<module>","filename":"/job/train.py","line":90}}])",
      function, file, line);
}

TEST(ProgramOverDumps, TheLineThatLaunchedIsPrintedForEachRank) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dump.Ended(20, {.frames = Frames("eval.py", 7, "validate")});
    if (rank != 1) dump.Open(21, {.frames = Frames("train.py", 41, "step")});
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_THAT(said.culprits, ElementsAre(1));
  EXPECT_THAT(said.text, HasSubstr("ranks 0, 2 and 3 in train.py(41): step"));
  EXPECT_THAT(said.text, HasSubstr("rank 1 in eval.py(7): validate"));
}

TEST(ProgramOverDumps, ADumpOfAnotherAttemptIsNotUsed) {
  constexpr int64_t kHourMs = 3'600'000;
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dump.later_ms = rank == 2 ? -3 * kHourMs : 0;
    dump.Ended(rank == 2 ? 5 : 20);
    if (rank != 3) dump.Open(rank == 2 ? 6 : 21);
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  ExpectAbsent(said, {3});
  EXPECT_THAT(said.findings, SizeIs(1));
  EXPECT_THAT(
      said.text,
      HasSubstr("another attempt, or the clock of its host is wrong: it ends 3 hours before"));
}

// A rank that stood for long before the others came is of this attempt.
TEST(ProgramOverDumps, AnEarlyWaitIsNoOtherAttempt) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dump.Ended(20);
    dump.later_ms = rank == 0 ? 0 : 300'000;
    if (rank != 3) dump.Open(21);
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_THAT(said.culprits, ElementsAre(3));
  EXPECT_THAT(said.text, Not(HasSubstr("another attempt")));
}

TEST(ProgramOverDumps, NamesAreTheUsersAndTheRankStandsBehind) {
  for (const std::string name : {"comm_lib_trace_rank_", "node7_nccl_trace_rank_",
                                 "rank9-host_comm_lib_trace_rank_", "dgx-12_", "hang.worker4."}) {
    SCOPED_TRACE(name);
    const DumpFolder dumps;
    for (int rank = 0; rank < 4; ++rank) {
      MadeDump dump;
      dump.Ended(20);
      if (rank != 2) dump.Open(21);
      dumps.Write(rank, dump, name);
    }
    EXPECT_THAT(dumps.Diagnosed().culprits, ElementsAre(2));
  }
}

// Dumps over NCCL that were written at different moments: "completed" means ended there.
TEST(ProgramOverDumps, WhatIsCompletedOnOthersIsNoHang) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) dumps.Write(rank, MadeDump().Ended(rank == 3 ? 20 : 24));
  const SaidOfDumps said = dumps.Diagnosed();
  ExpectCannotTell(said);
  EXPECT_THAT(said.text, HasSubstr("The dump of rank 3 ends with number 20 of group 0"));
}

// Gloo retires an operation on one rank a moment before it does on another.
TEST(ProgramOverDumps, WhatOneMemberHasTheResultOfIsNoHang) {
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeEntry last = kGloo;
    last.retired = rank != 2;
    dumps.Write(rank, ElevenOverGloo(kGloo, last));
  }
  const SaidOfDumps said = dumps.Diagnosed();
  ExpectCannotTell(said);
}

// A broadcast ends at its root without the others, and gloo's recorder does not say which rank that
// is.
TEST(ProgramOverDumps, ABroadcastThatOneMemberNeverEntered) {
  const MadeEntry broadcast{.name = "gloo:broadcast", .state = "scheduled"};
  const DumpFolder dumps;
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump(kNameless);
    dumps.Write(rank, dump.Ended(rank == 3 ? 10 : 11, broadcast));
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_EQ(said.exit_code, kExitCannotTell);
  EXPECT_THAT(said.text, HasSubstr("The dump of rank 3 ends with number 10 of group 0"));
}

TEST(ProgramOverDumps, WithHalfOfTheDumpsMissingItCannotTell) {
  const DumpFolder dumps;
  dumps.Write(1, MadeDump().Ended(20).Open(21));
  const SaidOfDumps said = dumps.Diagnosed();
  ExpectCannotTell(said);
  EXPECT_THAT(said.text, HasSubstr("3 of 4 ranks have no dump"));
}

TEST(ProgramOverDumps, MissingRanksAreNotBlamedWhereOthersHoldUp) {
  const DumpFolder dumps;
  for (const int rank : {0, 1, 3}) {
    MadeDump dump;
    dump.Ended(20);
    if (rank != 3) dump.Open(21);
    dumps.Write(rank, dump);
  }
  const SaidOfDumps said = dumps.Diagnosed();
  EXPECT_THAT(said.culprits, ElementsAre(3));
  EXPECT_THAT(said.findings, SizeIs(1));
}

}  // namespace
}  // namespace eroica

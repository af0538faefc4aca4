// Files that speak of ranks which have no file, of ranks that cannot be, and of several at once:
// they are read, or an error says what is wrong. The sink holds every batch against the invariants
// of the codec.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "producers/import/batch_collector.h"
#include "producers/import/test_folder.h"
#include "producers/import/trace_import.h"

namespace eroica {
namespace {

// A kernel that states its collective, as PyTorch writes it since 2.4.
std::string StatedKernel(int device, std::string_view ranks, std::string_view size = "2",
                         std::string_view more = R"("Collective name": "allreduce")") {
  const std::string args =
      fmt::format(R"({{"device": {}, {}, "In msg nelems": 8, "dtype": "Float", "Group size": {}, )",
                  device, more, size);
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": {}, "tid": 20, )"
      R"("ts": 100, "dur": 50, "args": {}"Process Group Name": "0", )"
      R"("Process Group Description": "default_pg", "Process Group Ranks": "{}"}}}})",
      device, args, ranks);
}

std::string HostEvent(std::string_view category, std::string_view name, int pid, int ts, int dur) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}}})",
      category, name, pid, pid, ts, dur);
}

std::string TraceOf(const std::string& events, std::string_view head = "") {
  return fmt::format(R"({{{}"traceEvents": [{}]}})", head, events);
}

class StatedRanks : public testing::Test {
 protected:
  absl::StatusOr<ImportReport> TryImport() {
    const std::filesystem::path path = folder.path();
    return ImportTraces({&path, 1}, {}, sink, nullptr);
  }
  ImportReport Import() {
    absl::StatusOr<ImportReport> report = TryImport();
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return {};
    EXPECT_TRUE(report->total.closed());
    return *std::move(report);
  }
  static bool Says(const std::vector<std::string>& warnings, std::string_view text) {
    return std::ranges::any_of(
        warnings, [&](const std::string& w) { return w.find(text) != std::string::npos; });
  }

  TestFolder folder;
  BatchCollector sink;
};

TEST_F(StatedRanks, AKernelNamesARankWithoutAFile) {
  folder.Write("trace.json", TraceOf(StatedKernel(0, "[0, 1]")));
  const ImportReport report = Import();
  EXPECT_EQ(report.world_size, 2u);
  EXPECT_TRUE(Says(report.warnings, "1 of 2 ranks are missing (1)"));
  ASSERT_EQ(sink.Collectives(0).size(), 1u);
  EXPECT_EQ(sink.Collectives(0)[0].communicator.ranks, (std::vector<uint32_t>{0, 1}));
}

TEST_F(StatedRanks, TwoFilesOfFourRanks) {
  for (const int rank : {0, 1})
    folder.Write(fmt::format("rank{}.json", rank),
                 TraceOf(StatedKernel(rank, "[0, 1, 2, 3]", "4")));
  const ImportReport report = Import();
  EXPECT_EQ(report.world_size, 4u);
  EXPECT_TRUE(Says(report.warnings, "2 of 4 ranks are missing (2, 3)"));
  EXPECT_EQ(report.collectives, 2u);
}

TEST_F(StatedRanks, TheSizeOfAGroupAloneSpeaksOfItsRanks) {
  folder.Write("rank0.json", TraceOf(StatedKernel(0, "[0, 1, ...]", "16")));
  EXPECT_EQ(Import().world_size, 16u);
}

TEST_F(StatedRanks, WhatContradictsTheStatedWorldIsSaid) {
  folder.Write("rank0.json", TraceOf(StatedKernel(0, "[0, 7]"),
                                     R"("distributedInfo": {"rank": 0, "world_size": 2}, )"));
  const ImportReport report = Import();
  EXPECT_EQ(report.world_size, 2u);
  EXPECT_TRUE(Says(report.files[0].warnings, "names rank 7 in a job of 2 ranks"));
  ASSERT_EQ(sink.Collectives(0).size(), 1u);
  EXPECT_TRUE(sink.Collectives(0)[0].communicator.ranks.empty());
}

TEST_F(StatedRanks, MembersThatCannotBeAreSaid) {
  for (const char* ranks :
       {"[0, 4294967296]", "[0, 99999999999999999999]", "[0, -1]", "[0, 0]", "[0, 1048576]"}) {
    folder.Write("rank0.json", TraceOf(StatedKernel(0, ranks)));
    const ImportReport report = Import();
    EXPECT_EQ(report.world_size, 2u) << ranks << ": as large as the group says that it is";
    EXPECT_TRUE(Says(report.files[0].warnings, "lists members that are no ranks")) << ranks;
    sink = {};
  }
}

// 2^32 + 1 is not rank 1.
TEST_F(StatedRanks, APeerIsNotCutToAnotherOne) {
  for (const char* peer : {"4294967297", "-5", "2147483648", "9223372036854775807"}) {
    folder.Write(
        "rank0.json",
        TraceOf(StatedKernel(0, "[0, 1]", "2",
                             fmt::format(R"("Collective name": "send", "Dst Rank": {})", peer))));
    folder.Write(
        "rank1.json",
        TraceOf(StatedKernel(1, "[0, 1]", "2", R"("Collective name": "recv", "Src Rank": 0)")));
    Import();
    for (const SeenCollective& seen : sink.Collectives(0)) EXPECT_EQ(seen.row.peer, -1) << peer;
    sink = {};
  }
}

TEST_F(StatedRanks, ASizeThatNoGroupHasIsUnknown) {
  for (const char* size : {"-4", "99999999", "9223372036854775807", "\"x\""}) {
    folder.Write("rank0.json", TraceOf(StatedKernel(0, "[0, 1, ...]", size)));
    EXPECT_EQ(Import().world_size, 1u) << size;
    sink = {};
  }
}

TEST_F(StatedRanks, AWorldThatCannotBeIsRefused) {
  for (const char* head : {R"("distributedInfo": {"rank": 0, "world_size": 9223372036854775807}, )",
                           R"("distributedInfo": {"rank": 1048577, "world_size": 1048578}, )",
                           R"("distributedInfo": {"rank": 9223372036854775807}, )"}) {
    folder.Write("rank0.json", TraceOf(HostEvent("cpu_op", "aten::mm", 1, 1, 2), head));
    const absl::StatusOr<ImportReport> report = TryImport();
    ASSERT_FALSE(report.ok()) << head;
    EXPECT_NE(report.status().message().find("which cannot be"), std::string::npos)
        << report.status();
  }
}

std::string OneOfMerged(int process) {
  std::string events;
  for (int step = 0; step < 2; ++step) {
    events += fmt::format("{}{}, {}", step > 0 ? ", " : "",
                          HostEvent("user_annotation", fmt::format("ProfilerStep#{}", step),
                                    process, 1'000 * step, 1'000),
                          HostEvent("cpu_op", "aten::mm", process, 1'000 * step + 10, 900));
  }
  return events + ", " + StatedKernel(process - 100, "[0, 1]");
}

TEST_F(StatedRanks, SeveralRanksInOneFileAreRefused) {
  folder.Write("merged.json", TraceOf(OneOfMerged(100) + ", " + OneOfMerged(101)));
  const absl::StatusOr<ImportReport> report = TryImport();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().message().find("2 processes that train (process ids 100, 101)"),
            std::string::npos)
      << report.status();
  EXPECT_NE(report.status().message().find("give the files from before the merge"),
            std::string::npos);
  EXPECT_TRUE(sink.batches.empty());
}

TEST_F(StatedRanks, AMergedFileDoesNotSpoilTheOthers) {
  folder.Write("rank0.json", TraceOf(OneOfMerged(100)));
  folder.Write("rank1.json", TraceOf(OneOfMerged(100) + ", " + OneOfMerged(101)));
  const ImportReport report = Import();
  EXPECT_EQ(report.ranks, std::vector<uint32_t>{0});
  EXPECT_TRUE(report.files[1].refused);
  EXPECT_GT(report.files[1].counts.skipped.of(DropReason::kConflictingRank), 0u);
}

TEST_F(StatedRanks, ASecondProcessThatRunsNoStepsIsOfTheSameRank) {
  folder.Write("rank0.json",
               TraceOf(OneOfMerged(100) + ", " + HostEvent("cpu_op", "write_cache", 7, 10, 5)));
  EXPECT_FALSE(Import().files[0].refused);
}

// Annotations are no intervals where there are Python frames, and yet marks.
TEST_F(StatedRanks, MarksBeforeTheFirstIntervalAndBehindTheLast) {
  const auto frame = HostEvent("python_function", "train.py(1): main", 1, 100, 50);
  folder.Write(
      "rank0.json",
      TraceOf(HostEvent("user_annotation", "Optimizer.step#Adam.step", 1, 50, 5) + ", " + frame +
              ", " + HostEvent("user_annotation", "Optimizer.step#Adam.step", 1, 500, 5)));
  Import();
  const std::vector<Mark> marks = sink.Marks(0);
  ASSERT_EQ(marks.size(), 4u);
  EXPECT_EQ(marks[1].kind, MarkKind::kStepBegin);
  EXPECT_EQ(marks[2].kind, MarkKind::kStepEnd);
}

TEST_F(StatedRanks, AStepOfATableThatNoJobReachesIsMalformed) {
  folder.Write("ops.csv",
               "dp_rank,stage,rank,step,optype,start_ts,duration\n"
               "0,0,0,1,forward-compute,0.1,0.2\n"
               "0,0,0,9223372036854775807,forward-compute,0.1,0.2\n");
  const ImportReport report = Import();
  EXPECT_EQ(report.total.skipped.of(DropReason::kMalformedEvent), 1u);
  EXPECT_EQ(report.total.imported, 1u);
}

TEST_F(StatedRanks, ANameOfAJobThatIsTooLong) {
  folder.Write("rank0.json", TraceOf(StatedKernel(0, "[0, 1]")));
  const std::filesystem::path path = folder.path();
  const absl::StatusOr<ImportReport> report =
      ImportTraces({&path, 1}, {.job = JobId(std::string(5'000, 'j'))}, sink, nullptr);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StatedRanks, ADumpWithMembersThatCannotBe) {
  folder.Write("fr_rank0.json", R"({"pg_config": {"0": {"desc": "d", "ranks": "[0, -1]"}},
      "entries": [{"process_group": ["0", "d"], "profiling_name": "nccl:send 0->4294967297",
                   "is_p2p": true, "p2p_seq_id": 1, "time_created_ns": 5, "state": "started"}]})");
  const ImportReport report = Import();
  EXPECT_EQ(report.world_size, 1u);
  EXPECT_TRUE(Says(report.files[0].warnings, "lists members that are no ranks"));
}

}  // namespace
}  // namespace eroica

// Flight-recorder dumps without traces.
#include "producers/import/standstill_import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "producers/import/batch_collector.h"
#include "producers/import/made_dumps.h"
#include "producers/import/test_folder.h"
#include "producers/import/trace_folder.h"
#include "producers/import/trace_import.h"

namespace eroica {
namespace {

std::string EntryJson(std::string_view group, std::string_view name, int sequence,
                      std::string_view more) {
  return fmt::format(
      R"({{"process_group": ["{}", "of {}"], "profiling_name": "{}", "collective_seq_id": {}, "p2p_seq_id": {}, "time_created_ns": {},
                         "input_sizes": [[4, 8]], "input_dtypes": ["Float"], {}}})",
      group, group, name, sequence, sequence, 1'000 + sequence, more);
}

std::string DumpJson(const std::string& entries) {
  return fmt::format(R"({{"pg_config": {{"0": {{"name": "0", "desc": "of 0", "ranks": "[0, 1, 2]"}},
                                        "7": {{"name": "7", "desc": "of 7", "ranks": "[2, 0]"}}}}, "entries": [{}]}})",
                     entries);
}

// A newer PyTorch may launch operations of a kind that is not known here: they have numbers, too.
TEST(StandstillImport, OperationsOfAnUnknownKindCountAsLaunched) {
  const TestFolder folder;
  for (const int rank : {0, 1}) {
    MadeDump({{.ranks = "[0, 1]"}})
        .Ended(4)
        .Add({.name = "nccl:something_newer", .sequence = 5})
        .Add({.name = "nccl:something_newer", .sequence = 6})
        .Open(7)
        .Write(folder.path() / fmt::format("fr_rank{}.json", rank));
  }
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  ASSERT_TRUE(ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr).ok());
  ASSERT_FALSE(sink.batches.empty());
  const std::vector<OperationCount>& rows = sink.batches[0].progress.at(0).operations;
  const auto unknown =
      std::ranges::find(rows, CollectiveOperation::kUnknown, &OperationCount::operation);
  ASSERT_NE(unknown, rows.end());
  EXPECT_EQ(unknown->launched, 7u);
}

TEST(StandstillImport, WhatHasNotEndedIsInFlight) {
  const TestFolder folder;
  folder.Write(
      "fr_rank0.json",
      DumpJson(
          EntryJson("0", "nccl:all_reduce", 1, R"("is_p2p": false, "state": "completed")") + "," +
          EntryJson("0", "nccl:all_reduce", 2,
                    R"("is_p2p": false, "state": "completed", "retired": true)") +
          "," +
          EntryJson("0", "nccl:_all_gather_base", 3,
                    R"("is_p2p": false, "state": "started", "retired": false)") +
          "," + EntryJson("7", "nccl:send 1->0", 9, R"("is_p2p": true, "state": "scheduled")") +
          "," + EntryJson("8", "nccl:all_reduce", 4, R"("state": "scheduled")")));
  folder.Write("fr_rank1.json",
               DumpJson(EntryJson("0", "nccl:all_reduce", 2,
                                  R"("is_p2p": false, "state": "completed", "retired": true)")));
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  const absl::StatusOr<ImportReport> report =
      ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->world_size, 3u);
  EXPECT_EQ(report->ranks, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(report->warnings.size(), 1u) << "rank 2 has no dump";
  EXPECT_TRUE(report->total.closed());
  EXPECT_EQ(report->total.events, 6u);
  EXPECT_EQ(report->total.skipped.total(), 0u)
      << "a group that nobody lists has those with entries";

  ASSERT_EQ(sink.batches.size(), 2u);
  const EventBatch& batch = sink.batches[0];
  EXPECT_TRUE(batch.final);
  ASSERT_EQ(batch.communicators.size(), 3u);
  EXPECT_EQ(batch.communicators[1].ranks, (std::vector<uint32_t>{2, 0}));
  ASSERT_EQ(batch.progress.size(), 1u);
  const ProgressReport& progress = batch.progress[0];
  EXPECT_TRUE(progress.timed_out);
  EXPECT_EQ(progress.time_ns, 1'009);
  EXPECT_EQ(progress.step, -1);
  EXPECT_TRUE(batch.communicators[2].ranks == std::vector<uint32_t>{0}) << "has entries of it";
  ASSERT_EQ(progress.in_flight.size(), 3u);
  const InFlightCollective gather{.communicator = 0,
                                  .operation = CollectiveOperation::kAllGather,
                                  .started = true,
                                  .peer = -1,
                                  .sequence = 3,
                                  .bytes = 128,
                                  .launched_ns = 1'003};
  EXPECT_EQ(progress.in_flight[0], gather);
  EXPECT_EQ(progress.in_flight[1].operation, CollectiveOperation::kSend);
  EXPECT_EQ(progress.in_flight[1].peer, 2) << "the group's first";
  EXPECT_FALSE(progress.starts_unknown) << "one has started";
  std::map<CollectiveOperation, OperationCount> counts;
  for (const OperationCount& row : progress.operations) {
    if (row.communicator == 0) counts[row.operation] = row;
  }
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts[CollectiveOperation::kUnknown].launched, 1u) << "all below the oldest entry";
  EXPECT_EQ(counts[CollectiveOperation::kAllReduce].launched, 3u);
  EXPECT_EQ(counts[CollectiveOperation::kAllReduce].completed, 3u);
  EXPECT_EQ(counts[CollectiveOperation::kAllGather].launched, 4u);
  EXPECT_EQ(counts[CollectiveOperation::kAllGather].completed, 0u);

  EXPECT_TRUE(sink.batches[1].progress[0].in_flight.empty());
  EXPECT_EQ(sink.batches[1].progress[0].time_ns, 1'009) << "of all dumps";
}

// What is computed with numbers and times does not leave 64 bits.
TEST(StandstillImport, NumbersThatNoJobReachesAreNone) {
  const TestFolder folder;
  const auto entry = [](int sequence, std::string_view more) {
    return EntryJson("0", "gloo:all_reduce", sequence, more);
  };
  const std::string soon = entry(1, R"("retired": true)");
  const std::string far_number = entry(2, R"("collective_seq_id": 9223372036854775807)");
  const std::string far_time = entry(3, R"("time_created_ns": 9223372036854775807)");
  const std::string far_end =
      EntryJson("0", "nccl:all_reduce", 4,
                R"("state": "completed", "time_discovered_completed_ns": 9223372036854775807)");
  const std::string far_limit =
      EntryJson("0", "nccl:all_reduce", 5, R"("state": "scheduled", "timeout_ms": 4611686018427)");
  for (const int rank : {0, 1}) {
    folder.Write(
        fmt::format("fr_rank{}.json", rank),
        DumpJson(fmt::format("{},{},{},{},{}", soon, far_number, far_time, far_end, far_limit)));
  }
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  const absl::StatusOr<ImportReport> report =
      ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->total.events, 10u);
  EXPECT_EQ(report->total.skipped.of(DropReason::kMalformedEvent), 4u)
      << "of each rank the number and the time";
  ASSERT_EQ(sink.batches.size(), 2u);
  EXPECT_EQ(sink.batches[0].progress.at(0).time_ns, 1'005);
}

TEST(StandstillImport, TheNamelessGroupOfGlooGetsItsName) {
  const TestFolder folder;
  const std::vector<MadeGroup> nameless = {{.name = "", .description = "", .ranks = "[0, 1]"}};
  folder.Write("fr_rank0.json", MadeDump(nameless).Open(1, {.name = "gloo:all_reduce"}).Json());
  folder.Write("fr_rank1.json", MadeDump(nameless).Open(1, {.name = "gloo:all_reduce"}).Json());
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  ASSERT_TRUE(ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr).ok());
  ASSERT_EQ(sink.batches.size(), 2u);
  ASSERT_EQ(sink.batches[0].communicators.size(), 1u);
  EXPECT_EQ(sink.batches[0].communicators[0].name, "0");
  EXPECT_EQ(sink.batches[0].communicators[0].ranks, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(sink.batches[0].communicators[0].id, sink.batches[1].communicators[0].id);
  ASSERT_EQ(sink.batches[0].progress[0].in_flight.size(), 1u);
  EXPECT_TRUE(sink.batches[0].progress[0].in_flight[0].started) << "gloo has no device to wait for";
}

// Operations of a batch are one kernel: one moment, one end.
TEST(StandstillImport, ABatchIsOneKernel) {
  const TestFolder folder;
  for (const int rank : {0, 1}) {
    MadeDump dump({{.ranks = "[0, 1]"}});
    for (const int sequence : {1, 2}) {
      for (const std::string name : {"nccl:send {} -> {}", "nccl:recv {} <- {}"}) {
        std::string stated = fmt::format(fmt::runtime(name), rank, 1 - rank);
        std::erase(stated, ' ');
        stated.insert(9, " ");
        dump.Open(sequence, {.name = stated, .p2p = true});
      }
      dump.Add({.name = "nccl:coalesced",
                .sequence = sequence,
                .state = sequence == 1 ? "completed" : "scheduled",
                .retired = sequence == 1,
                .p2p = true});
    }
    folder.Write(fmt::format("nccl_trace_rank_{}", rank), dump.Json());
  }
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  ASSERT_TRUE(ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr).ok());
  ASSERT_EQ(sink.batches.size(), 2u);
  const ProgressReport& progress = sink.batches[0].progress[0];
  ASSERT_EQ(progress.in_flight.size(), 2u);
  for (const InFlightCollective& row : progress.in_flight) {
    EXPECT_EQ(row.sequence, 2u);
    EXPECT_EQ(row.peer, 1);
    EXPECT_EQ(row.launched_ns, progress.in_flight[0].launched_ns);
  }
  EXPECT_TRUE(progress.starts_unknown);
}

TEST(StandstillImport, TheRankStandsBehindTheName) {
  EXPECT_EQ(RankOfDumpName("comm_lib_trace_rank_12"), 12);
  EXPECT_EQ(RankOfDumpName("a/node7_3"), 3);
  EXPECT_EQ(RankOfDumpName("rank4-host_nccl_trace_rank_11"), 11);
  EXPECT_EQ(RankOfDumpName("_dump_9"), 9);
  EXPECT_EQ(RankOfDumpName("fr_rank3.json"), 3);
  EXPECT_EQ(RankOfDumpName("fr_rank3_node12.json.gz"), 3);
  EXPECT_EQ(RankOfDumpName("node12_7.pkl"), 7);
  EXPECT_EQ(RankOfDumpName("dump"), -1);
}

// How a file begins says what it is: neither a trace's name nor none at all hides a dump.
TEST(StandstillImport, ContentTellsADumpFromATrace) {
  const TestFolder folder;
  folder.Write("rank0.json", MadeDump().Open(1).Json());
  folder.Write("host3_1", MadeDump().Open(1).Json());
  folder.Write("notes.txt", "nothing of a dump");
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  const absl::StatusOr<ImportReport> report =
      ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->stalled_only);
  EXPECT_EQ(report->ranks, (std::vector<uint32_t>{0, 1}));
}

TEST(StandstillImport, OneDumpARank) {
  const TestFolder folder;
  folder.Write("fr_rank0.json", DumpJson(EntryJson("0", "nccl:all_reduce", 1,
                                                   R"("is_p2p": false, "state": "scheduled")")));
  folder.Write("fr_rank0.pkl", "no pickle");
  folder.Write("fr_rank1.json", "broken");
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  const absl::StatusOr<ImportReport> report =
      ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->files.size(), 3u);
  EXPECT_TRUE(report->files[1].refused);
  EXPECT_TRUE(report->files[2].refused);
  EXPECT_EQ(report->ranks, (std::vector<uint32_t>{0}));
}

}  // namespace
}  // namespace eroica

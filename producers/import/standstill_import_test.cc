// Flight-recorder dumps without traces.
#include "producers/import/standstill_import.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "producers/import/batch_collector.h"
#include "producers/import/test_folder.h"
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

TEST(StandstillImport, WhatHasNotEndedIsInFlight) {
  const TestFolder folder;
  folder.Write(
      "fr_rank0.json",
      DumpJson(
          EntryJson("0", "nccl:all_reduce", 1, R"("is_p2p": false, "state": "completed")") + "," +
          EntryJson("0", "gloo:all_reduce", 2,
                    R"("is_p2p": false, "state": "scheduled", "retired": true)") +
          "," +
          EntryJson("0", "nccl:_all_gather_base", 3,
                    R"("is_p2p": false, "state": "started", "retired": false)") +
          "," + EntryJson("7", "nccl:send 1->0", 9, R"("is_p2p": true, "state": "scheduled")") +
          "," + EntryJson("8", "nccl:all_reduce", 4, R"("state": "scheduled")")));
  folder.Write("fr_rank1.json", DumpJson(""));
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  const absl::StatusOr<ImportReport> report =
      ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->world_size, 3u);
  EXPECT_EQ(report->ranks, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(report->warnings.size(), 1u) << "rank 2 has no dump";
  EXPECT_TRUE(report->total.closed());
  EXPECT_EQ(report->total.events, 5u);
  EXPECT_EQ(report->total.skipped.of(DropReason::kMalformedEvent), 1u)
      << "of a group that nobody lists";

  ASSERT_EQ(sink.batches.size(), 2u);
  const EventBatch& batch = sink.batches[0];
  EXPECT_TRUE(batch.final);
  ASSERT_EQ(batch.communicators.size(), 2u);
  EXPECT_EQ(batch.communicators[1].ranks, (std::vector<uint32_t>{2, 0}));
  ASSERT_EQ(batch.progress.size(), 1u);
  const ProgressReport& progress = batch.progress[0];
  EXPECT_TRUE(progress.timed_out);
  EXPECT_EQ(progress.time_ns, 1'009);
  EXPECT_EQ(progress.step, -1);
  ASSERT_EQ(progress.in_flight.size(), 2u);
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
  ASSERT_EQ(progress.operations.size(), 2u);
  EXPECT_EQ(progress.operations[0].launched, 3u);
  EXPECT_EQ(progress.operations[0].completed, 3u);
  EXPECT_EQ(progress.operations[1].launched, 4u);
  EXPECT_EQ(progress.operations[1].completed, 0u);

  EXPECT_TRUE(sink.batches[1].progress[0].in_flight.empty());
  EXPECT_EQ(sink.batches[1].progress[0].time_ns, 1'009) << "of all dumps";
  EXPECT_EQ(sink.batches[1].communicators[0].id, batch.communicators[0].id);
}

TEST(StandstillImport, TheNamelessGroupOfGlooGetsItsName) {
  const TestFolder folder;
  const std::string group = R"("pg_config": {"": {"name": "", "desc": "", "ranks": "[0, 1]"}})";
  folder.Write("fr_rank0.json",
               fmt::format(R"({{{}, "entries": [{}]}})", group,
                           EntryJson("0", "gloo:all_reduce", 1, R"("state": "scheduled")")));
  folder.Write("fr_rank1.json", fmt::format(R"({{{}, "entries": []}})", group));
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  ASSERT_TRUE(ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr).ok());
  ASSERT_EQ(sink.batches.size(), 2u);
  EXPECT_EQ(sink.batches[0].communicators[0].name, "0");
  EXPECT_EQ(sink.batches[0].communicators[0].id, sink.batches[1].communicators[0].id);
  EXPECT_EQ(sink.batches[0].progress[0].in_flight.size(), 1u);
}

TEST(StandstillImport, OneDumpARank) {
  const TestFolder folder;
  folder.Write("fr_rank0.json", DumpJson(""));
  folder.Write("fr_rank0.pkl", "no pickle");
  folder.Write("fr_rank1.json", "broken");
  BatchCollector sink;
  const std::filesystem::path& path = folder.path();
  const absl::StatusOr<ImportReport> report =
      ImportTraces({&path, 1}, {.job = JobId("j")}, sink, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->files.size(), 2u) << "the pickle is the same dump";
  EXPECT_TRUE(report->files[1].refused);
  EXPECT_EQ(report->ranks, (std::vector<uint32_t>{0}));
}

}  // namespace
}  // namespace eroica

// The importer on the real traces. Expected numbers were counted from the files with Python's json
// and csv.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "producers/import/batch_collector.h"
#include "producers/import/test_folder.h"
#include "producers/import/trace_import.h"
#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

const std::filesystem::path kTraces = "../shared/traces";

class RealTraces : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kTraces))
      GTEST_SKIP() << "needs the real traces in " << kTraces
                   << ", which are not in the repository; the importer's own inputs, in "
                      "producers/import/testdata, are";
  }

  ImportReport Import(const std::string& folder) {
    const std::filesystem::path path = kTraces / folder;
    absl::StatusOr<ImportReport> report = ImportTraces({&path, 1}, {}, sink, nullptr);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return {};
    EXPECT_TRUE(report->total.closed());
    for (const FileReport& file : NotEmpty(report->files))
      EXPECT_TRUE(file.counts.closed()) << file.path;
    return *std::move(report);
  }

  // Every matched collective was executed by all members that are there, once.
  void ExpectAllMeet(const ImportReport& report) {
    std::map<std::tuple<CommId, CollectiveOperation, uint64_t>, std::set<uint32_t>> met;
    for (const uint32_t rank : report.ranks) {
      for (const SeenCollective& seen : NotEmpty(sink.Collectives(rank))) {
        if (IsPointToPoint(seen.row.operation)) continue;
        EXPECT_TRUE(met[std::tuple(seen.communicator.id, seen.row.operation, seen.row.sequence)]
                        .insert(rank)
                        .second);
      }
    }
    for (const uint32_t rank : report.ranks) {
      for (const SeenCollective& seen : sink.Collectives(rank)) {
        if (IsPointToPoint(seen.row.operation)) continue;
        const auto& ranks =
            met[std::tuple(seen.communicator.id, seen.row.operation, seen.row.sequence)];
        EXPECT_EQ(ranks.size(), seen.communicator.ranks.size());
      }
    }
  }

  BatchCollector sink;
};

TEST_F(RealTraces, DlrmOnEightGpus) {
  const ImportReport report = Import("dlrm-kineto-8rank");
  EXPECT_EQ(report.job.value, "dlrm-kineto-8rank");
  EXPECT_EQ(report.world_size, 8u);
  EXPECT_EQ(report.ranks.size(), 8u);
  EXPECT_TRUE(report.warnings.empty()) << report.ToText();
  EXPECT_EQ(report.total.events, 26'538u);
  EXPECT_EQ(report.total.imported, 19'717u);
  EXPECT_EQ(report.collectives, 64u);
  EXPECT_EQ(report.collectives_unmatched, 0u);
  ExpectAllMeet(report);
  // What METHODS calls kernel 0: 10 us on rank 7, which came last, 7,635 us on rank 1.
  EXPECT_EQ(sink.Collectives(7)[0].interval.duration_ns, 10'000);
  EXPECT_EQ(sink.Collectives(1)[0].interval.duration_ns, 7'635'000);
  EXPECT_EQ(sink.Collectives(7)[0].row.operation, CollectiveOperation::kAllToAll);
  EXPECT_EQ(sink.Collectives(7)[0].row.bytes, 6'144u * 4);
  EXPECT_EQ(sink.Collectives(7)[4].row.operation, CollectiveOperation::kAllReduce);
  const EventBatch& first = sink.First(7);
  EXPECT_EQ(first.identity.device, 7);
  EXPECT_EQ(first.identity.pid, 59'818u);
  EXPECT_FALSE(first.identity.host_only);
  EXPECT_EQ(first.time_unit_ns, 1'000u);
  const std::vector<Mark> marks = sink.Marks(7);
  ASSERT_EQ(marks.size(), 4u);
  EXPECT_EQ(marks[0].kind, MarkKind::kStepBegin);
  EXPECT_EQ(marks[0].id, 10);
  EXPECT_EQ(marks[3].kind, MarkKind::kStepEnd);
}

TEST_F(RealTraces, DataParallelOverGloo) {
  const ImportReport report = Import("torch-gloo/slow_compute_4r");
  EXPECT_TRUE(report.warnings.empty()) << report.ToText();
  EXPECT_EQ(report.total.events, 101'996u);
  EXPECT_EQ(report.collectives, 4u * 24);
  EXPECT_EQ(report.collectives_unmatched, 0u);
  ExpectAllMeet(report);
  EXPECT_TRUE(sink.First(1).identity.host_only);
  EXPECT_EQ(sink.First(1).identity.host, "vm");
  // The injected fault is a leaf of the training thread's call stacks, of one name on all ranks.
  bool found = false;
  for (const SeenInterval& seen : sink.Intervals(1)) {
    if (seen.stack.find("throttled_layer_extra_work") == std::string::npos ||
        seen.name != "<built-in function sleep>")
      continue;
    found = true;
    EXPECT_EQ(seen.lane.kind, LaneKind::kTrainingThread);
    EXPECT_TRUE(seen.stack.starts_with("train.py: <module> > train.py: main > ")) << seen.stack;
    EXPECT_EQ(seen.wait, WaitKind::kNone);
  }
  EXPECT_TRUE(found);
}

struct ExpectedCounts {
  const char* folder;
  size_t files;
  uint64_t events;
  uint64_t unknown_phase;
  uint64_t unwanted;
  uint64_t imported;
  uint64_t collectives;
};

class EveryTrace : public RealTraces, public testing::WithParamInterface<ExpectedCounts> {};

TEST_P(EveryTrace, IsAccountedFor) {
  const ExpectedCounts& expected = GetParam();
  const ImportReport report = Import(expected.folder);
  EXPECT_EQ(report.files.size(), expected.files);
  EXPECT_EQ(report.total.events, expected.events);
  EXPECT_EQ(report.total.imported, expected.imported);
  EXPECT_EQ(report.total.skipped.of(DropReason::kUnknownPhase), expected.unknown_phase);
  EXPECT_EQ(report.total.skipped.of(DropReason::kUnwantedCategory), expected.unwanted);
  EXPECT_EQ(report.total.skipped.total(), expected.unknown_phase + expected.unwanted);
  EXPECT_EQ(report.collectives, expected.collectives);
  EXPECT_EQ(report.collectives_unmatched, 0u);
  EXPECT_TRUE(report.warnings.empty()) << report.ToText();
  ExpectAllMeet(report);
  for (const uint32_t rank : report.ranks) {
    EXPECT_TRUE(sink.First(rank).identity.host_only ==
                (std::string(expected.folder) != "dlrm-kineto-8rank"));
  }
}

std::string NameOfCase(const testing::TestParamInfo<ExpectedCounts>& expected) {
  std::string name = expected.param.folder;
  name = name.substr(name.find('/') + 1);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryTrace,
    testing::Values(
        ExpectedCounts{"dlrm-kineto-8rank", 8, 26538, 6749, 72, 19717, 64},
        ExpectedCounts{"torch-gloo/all_slow_python_4r", 4, 101308, 6208, 68, 95032, 96},
        ExpectedCounts{"torch-gloo/gc_4r", 4, 101252, 6208, 68, 94976, 96},
        ExpectedCounts{"torch-gloo/healthy_4r", 4, 101244, 6208, 68, 94968, 96},
        ExpectedCounts{"torch-gloo/imbalance_4r", 4, 101244, 6208, 68, 94968, 96},
        ExpectedCounts{"torch-gloo/slow_compute_4r", 4, 101996, 6208, 68, 95720, 96},
        ExpectedCounts{"torch-gloo/slow_data_inline_4r", 4, 92320, 6200, 68, 86052, 96},
        ExpectedCounts{"torch-parallel/ddp_healthy_4r", 4, 98048, 6328, 68, 91652, 96},
        ExpectedCounts{"torch-parallel/ddp_two_faults_sync_4r", 4, 99680, 6328, 68, 93284, 128},
        ExpectedCounts{"torch-parallel/fsdp_slow_compute_4r", 4, 214048, 2232, 1028, 210788, 256},
        ExpectedCounts{"torch-parallel/moe_hot_expert_4r", 4, 146176, 8888, 36, 137252, 352},
        ExpectedCounts{"torch-parallel/net_healthy_4r", 4, 96928, 6328, 68, 90532, 128},
        ExpectedCounts{"torch-parallel/net_slow_link_4r", 4, 96928, 6328, 68, 90532, 128},
        ExpectedCounts{"torch-parallel/pp2dp2_gpipe_healthy_4r", 4, 206880, 12728, 420, 193732,
                       320},
        ExpectedCounts{"torch-parallel/pp4dp2_healthy_8r", 8, 389920, 24304, 328, 365288, 864},
        ExpectedCounts{"torch-parallel/pp4dp2_slow_mid_8r", 8, 391200, 24304, 328, 366568, 864}),
    NameOfCase);

// Sends and receives of two ranks pair up: as many, of the same sizes, in the same order.
TEST_F(RealTraces, PipelineSendsMeetTheirReceives) {
  const ImportReport report = Import("torch-parallel/pp4dp2_healthy_8r");
  std::map<std::tuple<CommId, uint32_t, uint32_t, uint64_t>, uint64_t> sent;
  std::map<std::tuple<CommId, uint32_t, uint32_t, uint64_t>, uint64_t> received;
  for (const uint32_t rank : report.ranks) {
    for (const SeenCollective& seen : sink.Collectives(rank)) {
      const auto peer = static_cast<uint32_t>(seen.row.peer);
      if (seen.row.operation == CollectiveOperation::kSend)
        sent[{seen.communicator.id, rank, peer, seen.row.sequence}] = seen.row.bytes;
      if (seen.row.operation == CollectiveOperation::kRecv)
        received[{seen.communicator.id, peer, rank, seen.row.sequence}] = seen.row.bytes;
      if (IsPointToPoint(seen.row.operation)) {
        EXPECT_EQ(seen.communicator.description, "mesh_pp");
      } else {
        EXPECT_EQ(seen.communicator.description, "mesh_dp");
      }
    }
  }
  EXPECT_EQ(sent.size(), 2u * 3 * 2 * 32);
  EXPECT_EQ(sent, received);
}

TEST_F(RealTraces, ReduceScatterOfFsdpIsToldByItsEnqueue) {
  Import("torch-parallel/fsdp_slow_compute_4r");
  std::map<CollectiveOperation, int> seen;
  for (const SeenCollective& collective : sink.Collectives(2)) ++seen[collective.row.operation];
  EXPECT_EQ(seen[CollectiveOperation::kAllGather], 40);
  EXPECT_EQ(seen[CollectiveOperation::kReduceScatter], 24);
  EXPECT_EQ(seen[CollectiveOperation::kAllReduce], 0);
}

TEST_F(RealTraces, OperationCsvOfAPipeline) {
  const ImportReport report = Import("stage-imbalance-8worker/trace-ST.csv.gz");
  EXPECT_EQ(report.total.events, 6'784u);
  EXPECT_EQ(report.total.imported, 6'784u);
  EXPECT_EQ(report.world_size, 8u);
  EXPECT_EQ(report.collectives, 4u * 768 + 128 + 4 * 256);
  EXPECT_EQ(report.collectives_unmatched, 0u);
  EXPECT_EQ(sink.First(6).identity.role, "stage 3");
  EXPECT_EQ(sink.Marks(3).size(), 64u);
  EXPECT_EQ(sink.Marks(3)[0].id, 23);
  ExpectAllMeet(report);
}

TEST_F(RealTraces, CsvBesideItsTimelineCountsOnce) {
  const ImportReport report = Import("stage-imbalance-8worker");
  EXPECT_EQ(report.ranks.size(), 8u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kInvalidIdentity), 6'784u);
  EXPECT_EQ(report.total.imported, 6'784u);
}

TEST_F(RealTraces, SingleRanksOfOlderVersions) {
  for (const auto& [file, events, imported] :
       {std::tuple("trace_diff_control_control.json.gz", 109'123u, 74'876u),
        std::tuple("trace_diff_test_test.json.gz", 105'167u, 68'263u)}) {
    sink = {};
    const ImportReport report = Import(std::string("hta-kineto/") + file);
    EXPECT_EQ(report.total.events, events);
    EXPECT_EQ(report.total.imported, imported);
    EXPECT_EQ(report.warnings.size(), 1u + (report.world_size > 2 ? 1 : 0))
        << report.ToText();  // ranks are missing; too many to match by order
  }
}

TEST_F(RealTraces, TwoRanksOfMany) {
  BatchCollector both;
  const std::vector<std::filesystem::path> paths = {
      kTraces / "hta-kineto/trace_filter_sampled_rank-0.json.gz",
      kTraces / "hta-kineto/trace_filter_sampled_rank-1.json.gz"};
  const absl::StatusOr<ImportReport> report = ImportTraces(paths, {}, both, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->world_size, 128u);
  EXPECT_EQ(report->total.events, 4'855u + 4'720u);
  EXPECT_EQ(report->total.imported, 4'800u + 4'665u);
  EXPECT_EQ(report->collectives, 0u);
  EXPECT_EQ(report->collectives_unmatched, 20u);
  ASSERT_EQ(report->warnings.size(), 2u);
  EXPECT_NE(report->warnings[0].find("126 of 128 ranks are missing"), std::string::npos)
      << report->warnings[0];
}

// The same traces where no dump lies beside them: matched by order where there is one group only,
// and not at all where there are several.
TEST_F(RealTraces, WithoutDumps) {
  for (const auto& [name, matched, unmatched] :
       {std::tuple("fsdp_slow_compute_4r", 256u, 0u), std::tuple("pp4dp2_healthy_8r", 768u, 96u)}) {
    const TestFolder folder;
    for (const auto& entry :
         std::filesystem::directory_iterator(kTraces / "torch-parallel" / name)) {
      std::filesystem::create_symlink(std::filesystem::absolute(entry.path()),
                                      folder.path() / entry.path().filename());
    }
    BatchCollector without;
    const std::filesystem::path& path = folder.path();
    const absl::StatusOr<ImportReport> report = ImportTraces({&path, 1}, {}, without, nullptr);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->collectives, matched) << name;
    EXPECT_EQ(report->collectives_unmatched, unmatched) << name;
    EXPECT_EQ(report->warnings.size(), unmatched > 0 ? 1u : 0u);
  }
}

// The names of frames are equal on all ranks: what one rank alone ran is the injected fault and
// what it calls.
TEST_F(RealTraces, StacksAgreeAcrossRanks) {
  const ImportReport report = Import("torch-gloo/slow_compute_4r");
  std::map<std::string, std::set<uint32_t>> ranks_of;
  for (const uint32_t rank : report.ranks) {
    for (const SeenInterval& seen : sink.Intervals(rank)) {
      if (seen.function_class == FunctionClass::kPython &&
          seen.lane.kind == LaneKind::kTrainingThread)
        ranks_of[seen.stack + " > " + seen.name].insert(rank);
    }
  }
  size_t everywhere = 0;
  for (const auto& [stack, ranks] : ranks_of) {
    if (ranks.size() == 4) {
      ++everywhere;
    } else {
      EXPECT_EQ(ranks, std::set<uint32_t>{1}) << stack;
    }
  }
  EXPECT_EQ(everywhere, 774u);
  EXPECT_EQ(ranks_of.size(), 786u);
}

TEST_F(RealTraces, FolderOfThreeJobsIsRefused) {
  const std::filesystem::path path = kTraces / "hta-kineto";
  const absl::StatusOr<ImportReport> report = ImportTraces({&path, 1}, {}, sink, nullptr);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(std::string(report.status().message()).find("more than one job"), std::string::npos)
      << report.status();
  EXPECT_TRUE(sink.batches.empty());
}

}  // namespace
}  // namespace eroica

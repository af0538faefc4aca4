// The importer on the real traces. Expected numbers were counted from the files with Python's json and csv.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "producers/import/batch_collector.h"
#include "producers/import/trace_import.h"

namespace eroica {
namespace {

const std::filesystem::path kTraces = "../shared/traces";

class RealTraces : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kTraces)) GTEST_SKIP() << "the folder of real traces is absent: " << kTraces;
  }

  ImportReport Import(const std::string& folder) {
    const std::filesystem::path path = kTraces / folder;
    absl::StatusOr<ImportReport> report = ImportTraces({&path, 1}, {}, sink, nullptr);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return {};
    EXPECT_TRUE(report->total.closed());
    for (const FileReport& file : report->files) EXPECT_TRUE(file.counts.closed()) << file.path;
    return *std::move(report);
  }

  // Every matched collective was executed by all members that are there, once.
  void ExpectAllMeet(const ImportReport& report) {
    std::map<std::tuple<CommId, CollectiveOperation, uint64_t>, std::set<uint32_t>> met;
    for (const uint32_t rank : report.ranks) {
      for (const SeenCollective& seen : sink.Collectives(rank)) {
        if (IsPointToPoint(seen.row.operation)) continue;
        EXPECT_TRUE(met[std::tuple(seen.communicator.id, seen.row.operation, seen.row.sequence)].insert(rank).second);
      }
    }
    for (const uint32_t rank : report.ranks) {
      for (const SeenCollective& seen : sink.Collectives(rank)) {
        if (IsPointToPoint(seen.row.operation)) continue;
        const auto& ranks = met[std::tuple(seen.communicator.id, seen.row.operation, seen.row.sequence)];
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
  // The injected fault is a leaf of the training thread's call stacks, named alike on all ranks.
  bool found = false;
  for (const SeenInterval& seen : sink.Intervals(1)) {
    if (seen.stack.find("throttled_layer_extra_work") == std::string::npos || seen.name != "<built-in function sleep>") continue;
    found = true;
    EXPECT_EQ(seen.lane.kind, LaneKind::kTrainingThread);
    EXPECT_TRUE(seen.stack.starts_with("train.py: <module> > train.py: main > ")) << seen.stack;
    EXPECT_EQ(seen.wait, WaitKind::kNone);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace eroica

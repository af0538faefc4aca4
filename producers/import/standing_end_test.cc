// Traces that end while the job stands still.
#include "producers/import/standing_end.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "producers/import/batch_collector.h"
#include "producers/import/test_folder.h"
#include "producers/import/trace_import.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kSteps = 6;

// Six steps of 50 ms with one all-reduce of 2 ms; then what the last lines say.
std::string TraceOf(int rank, const std::vector<std::string>& end) {
  std::string text = fmt::format(
      R"({{"distributedInfo": {{"rank": {}, "world_size": 3}}, "traceEvents": [)", rank);
  for (int step = 0; step < kSteps; ++step) {
    const int ts = 50'000 * step;
    text += fmt::format(
        R"({{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{0}", "pid": 1, "tid": 1, "ts": {1}, "dur": 50000}},
           {{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": {1}, "dur": 40000}},
           {{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "pid": 0, "tid": 7, "ts": {2}, "dur": 2000}},)",
        step, ts, ts + 45'000);
  }
  return fmt::format("{}{}]}}", text, fmt::join(end, ","));
}
std::string LastKernel(int dur, int stream = 7) {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "pid": 0, "tid": {}, "ts": 345000, "dur": {}}})",
      stream, dur);
}
// A thread launches an all-reduce.
const std::string kLaunch =
    R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": 340000, "dur": 15,
        "args": {"Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float"}})";
std::string Frame(const char* name, int dur) {
  return fmt::format(
      R"({{"ph": "X", "cat": "python_function", "name": "{}", "pid": 1, "tid": 1, "ts": 300000, "dur": {}, "args": {{"Python id": 1}}}})",
      name, dur);
}

class StandingEnd : public testing::Test {
 protected:
  ImportReport Import(const std::vector<std::vector<std::string>>& ends) {
    sink = BatchCollector();
    for (size_t rank = 0; rank < ends.size(); ++rank)
      folder.Write(fmt::format("rank{}.json", rank), TraceOf(static_cast<int>(rank), ends[rank]));
    const std::filesystem::path path = folder.path();
    absl::StatusOr<ImportReport> report = ImportTraces({&path, 1}, ImportOptions(), sink, nullptr);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : ImportReport{};
  }
  std::vector<ProgressReport> Reports(uint32_t rank) const {
    std::vector<ProgressReport> reports;
    for (const EventBatch& batch : sink.batches) {
      if (batch.identity.rank.value == rank)
        reports.insert(reports.end(), batch.progress.begin(), batch.progress.end());
    }
    return reports;
  }
  TestFolder folder;
  BatchCollector sink;
};

TEST_F(StandingEnd, WhoNeverCameToTheLastCollectiveIsKnown) {
  const ImportReport report = Import(
      {{LastKernel(5'000'000)}, {LastKernel(5'000'000)}, {Frame("a.py(3): stuck", 5'045'000)}});
  EXPECT_TRUE(report.ends_standing);
  EXPECT_EQ(report.collectives, 18u) << "those before it are matched";
  ASSERT_THAT(Reports(0), SizeIs(1));
  ASSERT_THAT(Reports(0)[0].in_flight, SizeIs(1));
  EXPECT_EQ(Reports(0)[0].in_flight[0].sequence, 6u);
  EXPECT_TRUE(Reports(0)[0].in_flight[0].started);
  ASSERT_THAT(Reports(2), SizeIs(1));
  EXPECT_THAT(Reports(2)[0].in_flight, IsEmpty());
  ASSERT_THAT(Reports(2)[0].operations, SizeIs(1));
  EXPECT_EQ(Reports(2)[0].operations[0].completed, 6u);
  EXPECT_NE(Reports(2)[0].function, kNoParent);
}

// DDP's buckets over gloo, which has two threads: none of those in flight is one that ended.
TEST_F(StandingEnd, SeveralCollectivesStandAtOnce) {
  const std::vector<std::string> waits = {LastKernel(5'000'000), LastKernel(5'000'000, 8)};
  const ImportReport report = Import({waits, waits, {Frame("a.py(3): stuck", 5'045'000)}});
  EXPECT_TRUE(report.ends_standing);
  EXPECT_EQ(report.collectives, 18u) << "those before them are matched";
  ASSERT_THAT(Reports(0), SizeIs(1));
  ASSERT_THAT(Reports(0)[0].in_flight, SizeIs(2));
  EXPECT_EQ(Reports(0)[0].in_flight[0].sequence, 6u);
  EXPECT_EQ(Reports(0)[0].in_flight[1].sequence, 7u);
  ASSERT_THAT(Reports(2), SizeIs(1));
  EXPECT_THAT(Reports(2)[0].in_flight, IsEmpty());
}

// CUPTI records a kernel when it ends: what is seen of one that does not is its launch.
TEST_F(StandingEnd, ALaunchedKernelThatNeverRanIsInFlight) {
  const std::string waits =
      R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 1, "tid": 1, "ts": 341000, "dur": 5000000})";
  const ImportReport report =
      Import({{kLaunch, waits}, {kLaunch, waits}, {Frame("a.py(3): stuck", 5'041'000)}});
  EXPECT_TRUE(report.ends_standing);
  ASSERT_THAT(Reports(1), SizeIs(1));
  ASSERT_THAT(Reports(1)[0].in_flight, SizeIs(1));
  EXPECT_FALSE(Reports(1)[0].in_flight[0].started);
}

// Nothing shows how long it has been in flight.
TEST_F(StandingEnd, TracesThatEndAtALaunchLeaveItOpen) {
  const ImportReport report = Import({{kLaunch}, {kLaunch}, {Frame("a.py(3): f", 40'000)}});
  EXPECT_FALSE(report.ends_standing);
  EXPECT_TRUE(report.ends_apart);
  EXPECT_FALSE(Import({{kLaunch}, {kLaunch}, {kLaunch}}).ends_apart);
}

// The last that was recorded is not what it stands in.
TEST_F(StandingEnd, WhatEndedIsNotWhereItStands) {
  Import({{LastKernel(5'000'000)}, {LastKernel(5'000'000)}, {Frame("a.py(3): short", 10'000)}});
  ASSERT_THAT(Reports(2), SizeIs(1));
  EXPECT_EQ(Reports(2)[0].function, kNoParent);
}

TEST_F(StandingEnd, ALateRankIsNoStandstill) {
  const std::string late =
      R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "pid": 0, "tid": 7, "ts": 5343000, "dur": 2000})";
  EXPECT_FALSE(Import({{LastKernel(5'000'000)}, {LastKernel(5'000'000)}, {late}}).ends_standing);
}

TEST_F(StandingEnd, AWaitOfAFewStepsIsNoStandstill) {
  const ImportReport report = Import({{LastKernel(200'000)}, {LastKernel(200'000)}, {}});
  EXPECT_FALSE(report.ends_standing);
  EXPECT_EQ(report.collectives, 0u) << "which of the calls is missing, nobody knows";
}

TEST_F(StandingEnd, WithoutAllRanksNobodyIsBlamed) {
  const ImportReport report =
      Import({{LastKernel(5'000'000)}, {Frame("a.py(3): stuck", 5'045'000)}});
  EXPECT_FALSE(report.ends_standing);
  EXPECT_FALSE(report.warnings.empty());
}

}  // namespace
}  // namespace eroica

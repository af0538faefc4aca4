#include "producers/export/chrome_trace_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "producers/import/batch_collector.h"
#include "producers/import/test_folder.h"
#include "producers/import/trace_import.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kTraceStart = 1'700'000'000'000'000'000;

// Rank 1 of 2 does a step: loads data in Python, runs a kernel, copies, reduces, sends.
EventBatch TracedBatch() {
  EventBatch batch;
  batch.identity = {.job = JobId("job"),
                    .rank = RankId(1),
                    .world_size = 2,
                    .host = "host \"7\"",
                    .pid = 4711,
                    .device = 1,
                    .producer = "test",
                    .window_steps = 4};
  batch.functions = {{"train.py(12): main", FunctionClass::kPython},
                     {"dataset.py(3): read \"x\"\\y", FunctionClass::kPython, WaitKind::kNone, 0},
                     {"gemm<float, 128>", FunctionClass::kGpuCompute},
                     {"Memcpy HtoD (Pageable -> Device)", FunctionClass::kMemoryOp},
                     {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", FunctionClass::kCollective},
                     {"ncclDevKernel_SendRecv", FunctionClass::kCollective},
                     {"cudaStreamSynchronize", FunctionClass::kCpuOp, WaitKind::kPeer},
                     {"aten::copy_", FunctionClass::kCpuOp}};
  batch.lanes = {{"main", LaneKind::kTrainingThread},
                 {"compute", LaneKind::kDeviceStream},
                 {"nccl", LaneKind::kDeviceStream}};
  batch.communicators = {{CommId(9), "0", "default_pg", 2, {0, 1}}};
  batch.intervals.push_back(kTraceStart, 900'001, 0, 0);
  batch.intervals.push_back(kTraceStart + 10, 100, 1, 0);
  batch.intervals.push_back(kTraceStart + 200, 1'234, 2, 1);
  batch.intervals.push_back(kTraceStart + 2'000, 10, 3, 1);
  batch.intervals.push_back(kTraceStart + 3'000, 500, 4, 2);
  batch.intervals.push_back(kTraceStart + 3'600, 50, 5, 2);
  batch.intervals.push_back(kTraceStart + 4'000, 70, 6, 0);
  batch.intervals.push_back(kTraceStart + 5'000, 0, 7, 0);
  batch.collectives = {{4, 0, CollectiveOperation::kAllReduce, -1, 17, 4096},
                       {5, 0, CollectiveOperation::kSend, 0, 0, 333}};
  batch.marks = {{kTraceStart, MarkKind::kStepBegin, 40},
                 {kTraceStart + 5, MarkKind::kDataloaderNext, 0},
                 {kTraceStart + 800'000, MarkKind::kStepEnd, 40}};
  batch.final = true;
  return batch;
}

// The same of rank 0, which receives.
EventBatch PeerBatch() {
  EventBatch batch = TracedBatch();
  batch.identity.rank = RankId(0);
  batch.collectives[1].operation = CollectiveOperation::kRecv;
  batch.collectives[1].peer = 1;
  return batch;
}

BatchCollector Reimport(const std::filesystem::path& folder) {
  BatchCollector collector;
  ImportOptions options;
  options.job = JobId("job");
  const absl::StatusOr<ImportReport> report =
      ImportTraces(std::vector{folder}, options, collector, [](uint64_t, uint64_t) {});
  EXPECT_TRUE(report.ok()) << report.status();
  if (report.ok()) {
    EXPECT_TRUE(report->warnings.empty()) << report->ToText();
  }
  return collector;
}

BatchCollector RoundTrip(const std::vector<EventBatch>& batches) {
  const TestFolder folder;
  const auto writer = ChromeTraceWriter::Open(folder.path().string());
  EXPECT_TRUE(writer.ok()) << writer.status();
  for (const EventBatch& batch : batches) EXPECT_TRUE((*writer)->Write(batch).ok());
  EXPECT_TRUE((*writer)->Finish().ok());
  return Reimport(folder.path());
}

TEST(ChromeTraceWriter, TheImporterReadsTheSameBack) {
  const EventBatch written = TracedBatch();
  const BatchCollector read = RoundTrip({PeerBatch(), written});
  const std::vector<SeenInterval> intervals = read.Intervals(1);
  ASSERT_EQ(intervals.size(), written.intervals.size());
  for (size_t i = 0; i < intervals.size(); ++i) {
    const FunctionDef& function = written.functions[written.intervals.function[i]];
    EXPECT_EQ(intervals[i].start_ns, written.intervals.start_ns[i]) << i;
    EXPECT_EQ(intervals[i].duration_ns, written.intervals.duration_ns[i]) << i;
    EXPECT_EQ(intervals[i].function_class, function.function_class) << i;
    EXPECT_EQ(intervals[i].wait, function.wait) << i;
    EXPECT_EQ(intervals[i].lane, written.lanes[written.intervals.lane[i]]) << i;
  }
  EXPECT_EQ(intervals[1].name,
            // the importer knows that lines of frames open at the start mean nothing
            "dataset.py: read \"x\"\\y");
  EXPECT_EQ(intervals[1].stack, "train.py: main");
  EXPECT_EQ(intervals[2].name, "gemm<float, 128>");
  const ProducerIdentity& identity = read.First(1).identity;
  EXPECT_EQ(identity.host, "host \"7\"");
  EXPECT_EQ(identity.pid, 4711);
  EXPECT_EQ(identity.device, 1);
  EXPECT_EQ(identity.world_size, 2);
  EXPECT_FALSE(identity.host_only);
}

TEST(ChromeTraceWriter, CollectivesKeepGroupOperationSequencePeerAndSize) {
  const BatchCollector read = RoundTrip({PeerBatch(), TracedBatch()});
  const std::vector<SeenCollective> seen = read.Collectives(1);
  ASSERT_EQ(seen.size(), 2);
  EXPECT_EQ(seen[0].row.operation, CollectiveOperation::kAllReduce);
  EXPECT_EQ(seen[0].row.sequence, 17);
  EXPECT_EQ(seen[0].row.bytes, 4096);
  EXPECT_EQ(seen[0].communicator.name, "0");
  EXPECT_EQ(seen[0].communicator.description, "default_pg");
  EXPECT_THAT(seen[0].communicator.ranks, ElementsAre(0, 1));
  EXPECT_EQ(seen[1].row.operation, CollectiveOperation::kSend);
  EXPECT_EQ(seen[1].row.peer, 0);
  EXPECT_EQ(seen[1].row.bytes, 333);
  EXPECT_EQ(read.Collectives(0)[1].row.operation, CollectiveOperation::kRecv);
}

TEST(ChromeTraceWriter, LargeGroupsAreNamedInFullOnceAndCutBesideKernels) {
  std::vector<EventBatch> batches = {PeerBatch(), TracedBatch()};
  for (EventBatch& batch : batches) {
    batch.identity.world_size = 64;
    batch.communicators[0].size = 64;
    for (uint32_t rank = 2; rank < 64; ++rank) batch.communicators[0].ranks.push_back(rank);
  }
  const TestFolder folder;
  const auto writer = ChromeTraceWriter::Open(folder.path().string());
  ASSERT_TRUE(writer.ok());
  for (const EventBatch& batch : batches) ASSERT_TRUE((*writer)->Write(batch).ok());
  BatchCollector collector;
  const absl::StatusOr<ImportReport> report = ImportTraces(
      std::vector{folder.path()}, ImportOptions(), collector, [](uint64_t, uint64_t) {});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(collector.Collectives(1).size(), 2);
  EXPECT_EQ(collector.Collectives(1)[0].communicator.ranks, batches[0].communicators[0].ranks);
}

TEST(ChromeTraceWriter, StepsBecomeAnnotationsAndWhatIsOpenEndsWithTheTrace) {
  EventBatch batch = TracedBatch();
  batch.marks = {{kTraceStart, MarkKind::kStepBegin, 40},
                 {kTraceStart + 3'000, MarkKind::kStepBegin, 41}};
  const std::vector<Mark> marks = RoundTrip({PeerBatch(), batch}).Marks(1);
  EXPECT_THAT(marks, ElementsAre(Mark{kTraceStart, MarkKind::kStepBegin, 40},
                                 Mark{kTraceStart + 3'000, MarkKind::kStepEnd, 40},
                                 Mark{kTraceStart + 3'000, MarkKind::kStepBegin, 41},
                                 Mark{kTraceStart + 900'001, MarkKind::kStepEnd, 41}));
}

TEST(ChromeTraceWriter, CallersWithoutAnIntervalAreFramesOfTheSameSpan) {
  EventBatch batch = TracedBatch();
  // Two batches: the caller's frame is known from the first.
  EventBatch second = batch;
  batch.final = false;
  second.sequence = 1;
  second.intervals.clear();
  second.collectives.clear();
  second.marks.clear();
  second.functions.push_back({"loader.py(9): next", FunctionClass::kPython, WaitKind::kNone, 0});
  second.functions.push_back({"store.py(1): get", FunctionClass::kPython, WaitKind::kNone, 8});
  second.intervals.push_back(kTraceStart + 6'000, 100, 9, 0);
  const std::vector<SeenInterval> intervals = RoundTrip({PeerBatch(), batch, second}).Intervals(1);
  ASSERT_EQ(intervals.size(), 10);
  EXPECT_THAT(intervals[8].name, HasSubstr("loader.py"));
  EXPECT_EQ(intervals[8].duration_ns, 100);
  EXPECT_THAT(intervals[9].name, HasSubstr("store.py"));
  EXPECT_THAT(intervals[9].stack, HasSubstr("main > loader.py"));
}

TEST(ChromeTraceWriter, RefusesWhatWouldMixOrCannotBeWritten) {
  const TestFolder folder;
  {
    const auto writer = ChromeTraceWriter::Open(folder.path().string());
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Write(TracedBatch()).ok());
    EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Write(TracedBatch())))
        << "a batch behind the final one";
    EventBatch early = PeerBatch();
    early.final = false;
    ASSERT_TRUE((*writer)->Write(early).ok());
    for (int64_t& start : early.intervals.start_ns) start -= int64_t{120} * 1'000'000'000;
    EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Write(early)));
  }
  EXPECT_TRUE(absl::IsAlreadyExists(ChromeTraceWriter::Open(folder.path().string()).status()));
  const std::filesystem::path file = folder.Write("no_folder", "text");
  EXPECT_TRUE(absl::IsUnavailable(ChromeTraceWriter::Open(file.string() + "/below").status()));
}

}  // namespace
}  // namespace eroica

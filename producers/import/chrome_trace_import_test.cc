// What becomes of a small trace written by hand: steps, lanes, stacks, collectives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "producers/import/batch_collector.h"
#include "producers/import/test_folder.h"
#include "producers/import/trace_import.h"
#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

struct X {
  const char* category;
  std::string name;
  int tid;
  int ts;
  int dur;
  std::string args = "{}";
};

std::string Event(const X& x) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": {}, "ts": {}, "dur": {}, "args": {}}})",
      x.category, x.name, x.tid, x.ts, x.dur, x.args);
}

class ChromeTraceImport : public testing::Test {
 protected:
  void Write(int rank, int world_size, const std::vector<X>& events,
             const std::string& header = "") {
    std::string text =
        fmt::format(R"({{"distributedInfo": {{"rank": {}, "world_size": {}{}}}, "traceEvents": [)",
                    rank, world_size, header);
    for (size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ",\n") + Event(events[i]);
    folder.Write(fmt::format("rank{}.json", rank),
                 text + R"(], "baseTimeNanoseconds": 1000000000})");
  }
  ImportReport Import(const ImportOptions& options = {}) {
    const std::filesystem::path path = folder.path();
    absl::StatusOr<ImportReport> report = ImportTraces({&path, 1}, options, sink, nullptr);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : ImportReport{};
  }
  TestFolder folder;
  BatchCollector sink;
};

TEST_F(ChromeTraceImport, TimesAreAbsoluteAndSorted) {
  Write(0, 1, {{"cpu_op", "b", 1, 20, 5}, {"cpu_op", "a", 1, 10, 5}});
  Import();
  const std::vector<SeenInterval> seen = sink.Intervals(0);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].name, "a");
  EXPECT_EQ(seen[0].start_ns, 1'000'010'000);  // the base time stood behind the events
  EXPECT_EQ(sink.batches[0].time_unit_ns, 1'000u);
}

TEST_F(ChromeTraceImport, ATraceWithoutStepsIsOneStep) {
  Write(0, 1, {{"cpu_op", "long", 1, 10, 90}, {"cpu_op", "b", 1, 20, 5}});
  Import();
  const std::vector<Mark> marks = sink.Marks(0);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0], (Mark{1'000'010'000, MarkKind::kStepBegin, 0}));
  EXPECT_EQ(marks[1], (Mark{1'000'100'000, MarkKind::kStepEnd, 0}));
}

TEST_F(ChromeTraceImport, StepsAreMarksInTheOrderOfTime) {
  Write(
      0, 1,
      {{"user_annotation", "ProfilerStep#7", 1, 0, 100},
       {"user_annotation", "ProfilerStep#8", 1, 100, 100},
       {"user_annotation", "Optimizer.step#AdamW.step", 1, 80, 10},
       {"user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 2, 5},
       {"python_function", "train.py(5): main", 1, 0, 250, R"({"Python id": 1})"}});
  const ImportReport report = Import();
  EXPECT_EQ(report.total.imported, 5u);
  const std::vector<Mark> marks = sink.Marks(0);
  ASSERT_EQ(marks.size(), 6u);
  EXPECT_EQ(marks[1].kind, MarkKind::kDataloaderNext);
  EXPECT_EQ(marks[2].kind, MarkKind::kOptimizerStep);
  EXPECT_EQ(marks[3], (Mark{1'000'100'000, MarkKind::kStepEnd,
                            7}));  // before the next one begins at the same time
  EXPECT_EQ(marks[4], (Mark{1'000'100'000, MarkKind::kStepBegin, 8}));
  EXPECT_EQ(sink.Intervals(0).size(), 1u);  // with Python frames annotations are no intervals
}

TEST_F(ChromeTraceImport, WithoutPythonStacksAnnotationsAreTheFunctions) {
  Write(0, 1,
        {{"python_function", "train.py(5): main", 1, 0, 250, R"({"Python id": 1})"},
         {"user_annotation", "DistributedDataParallel.forward", 1, 10, 40},
         {"cpu_op", "aten::mm", 1, 20, 5}});
  const ImportReport report = Import({.python_stacks = false});
  EXPECT_EQ(report.total.imported, 2u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kUnwantedCategory), 1u);
  EXPECT_TRUE(report.total.closed());
  const std::vector<SeenInterval> seen = sink.Intervals(0);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].name, "DistributedDataParallel.forward");
  EXPECT_EQ(seen[0].function_class, FunctionClass::kPython);
  EXPECT_EQ(seen[1].name, "aten::mm");
}

TEST_F(ChromeTraceImport, StacksComeFromTheIds) {
  Write(0, 1,
        {{"python_function", "train.py(229): <module>", 1, 0, 100, R"({"Python id": 1})"},
         {"python_function", "train.py(220): main", 1, 1, 99,
          R"({"Python id": 2, "Python parent id": 1})"},
         {"python_function", "model.py(10): forward", 1, 10, 20,
          R"({"Python id": 3, "Python parent id": 2})"},
         {"python_function", "<built-in method get of dict object at 0x7f00>", 1, 40, 1,
          R"({"Python id": 4, "Python parent id": 2})"},
         {"python_function", "model.py(30): backward", 1, 50, 5,
          R"({"Python id": 5, "Python parent id": 2})"},
         {"python_function", "threading.py(1002): _bootstrap", 2, 0, 500, R"({"Python id": 6})"}});
  Import();
  const std::vector<SeenInterval> seen = sink.Intervals(0);
  ASSERT_EQ(seen.size(), 6u);
  // Frames open at the start carry the line that they were at: it is dropped, as is the address.
  EXPECT_EQ(seen[3].stack, "train.py: <module> > train.py: main");
  EXPECT_EQ(seen[4].name, "<built-in method get of dict object>");
  EXPECT_EQ(seen[5].name, "model.py(30): backward");
  EXPECT_EQ(seen[5].lane.kind, LaneKind::kTrainingThread);
  EXPECT_EQ(seen[0].name, "threading.py: _bootstrap");
  EXPECT_EQ(seen[0].lane.kind, LaneKind::kHostThread);
}

TEST_F(ChromeTraceImport, AnnotationsAreFramesWhereThereIsNoPython) {
  Write(0, 1,
        {{"user_annotation", "## forward ##", 1, 0, 100},
         {"user_annotation", "## embed ##", 1, 10, 20},
         {"user_annotation", "## loss ##", 1, 30, 5}});
  Import();
  const std::vector<SeenInterval> seen = sink.Intervals(0);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].function_class, FunctionClass::kPython);
  EXPECT_EQ(seen[1].stack, "## forward ##");
  EXPECT_EQ(seen[2].stack, "## forward ##");
}

std::string Stated(int sequence, const char* ranks = "[0, 1]") {
  return fmt::format(
      R"({{"device": 3, "Collective name": "allreduce", "In msg nelems": 100, "Group size": 2, "dtype": "BFloat16",
                         "Process Group Name": "9", "Process Group Description": "dp", "Process Group Ranks": "{}", "Seq": {}}})",
      ranks, sequence);
}

TEST_F(ChromeTraceImport, KernelsOfNewVersionsStateTheirCollective) {
  for (const int rank : {0, 1}) {
    Write(rank, 4,
          {{"kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 7, 10 * rank, 5, Stated(12)},
           {"kernel", "gemm", 7, 50, 5, R"({"device": 3})"}});
  }
  EXPECT_EQ(Import().collectives, 2u);
  const SeenCollective seen = sink.Collectives(1)[0];
  EXPECT_EQ(seen.row.sequence, 12u);
  EXPECT_EQ(seen.row.bytes, 200u);
  EXPECT_EQ(seen.row.operation, CollectiveOperation::kAllReduce);
  EXPECT_EQ(seen.communicator.description, "dp");
  EXPECT_EQ(seen.communicator.ranks, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(seen.interval.function_class, FunctionClass::kCollective);
  EXPECT_EQ(seen.interval.lane.kind, LaneKind::kDeviceStream);
  EXPECT_EQ(sink.Collectives(0)[0].communicator.id, seen.communicator.id);
  EXPECT_EQ(sink.First(1).identity.device, 3);
  EXPECT_FALSE(sink.First(1).identity.host_only);
}

TEST_F(ChromeTraceImport, RanksCutShortComeFromTheHeader) {
  const std::string header =
      R"(, "pg_config": [{"pg_name": "9", "pg_desc": "dp", "pg_size": 2, "ranks": [0, 1]}])";
  for (const int rank : {0, 1})
    Write(rank, 2,
          {{"kernel", "ncclDevKernel_AllReduce_Sum(x)", 7, 10, 5, Stated(3, "[0, ..., 1]")}},
          header);
  Import();
  EXPECT_EQ(sink.Collectives(0)[0].communicator.ranks, (std::vector<uint32_t>{0, 1}));
}

// A recv that crosses other events of its thread, and two threads that execute in another order
// than they were asked to.
TEST_F(ChromeTraceImport, ExecutionsFindTheirEnqueues) {
  const auto dims = [](int elements, const char* more = "") {
    return fmt::format(R"({{"Input Dims": [[{}]], "Input type": ["float"]{}}})", elements, more);
  };
  for (const int rank : {0, 1}) {
    const int late = rank == 0 ? 60 : 40;
    Write(rank, 2,
          {{"user_annotation", "gloo:all_reduce", 2, late, 10, dims(8)},
           {"user_annotation", "gloo:all_reduce", 3, 50, 10, dims(4)},
           {"cpu_op", "c10d::allreduce_", 1, 1, 2, dims(8)},
           {"cpu_op", "c10d::_reduce_scatter_base_", 1, 5, 2,
            R"({"Input Dims": [[2], [4], [], []], "Input type": ["float", "float", "", ""]})"}});
  }
  EXPECT_EQ(Import().collectives, 4u);
  for (const uint32_t rank : {0u, 1u}) {
    for (const SeenCollective& seen : NotEmpty(sink.Collectives(rank))) {
      EXPECT_EQ(seen.row.operation, seen.row.bytes == 32 ? CollectiveOperation::kAllReduce
                                                         : CollectiveOperation::kReduceScatter);
    }
  }
}

std::string Sent(const char* operation, const char* end, int peer) {
  return fmt::format(
      R"({{"Collective name": "{}", "{} Rank": {}, "In msg nelems": 100, "dtype": "BFloat16",
           "Process Group Name": "5", "Process Group Description": "pp", "Process Group Ranks": "[2, 6]"}})",
      operation, end, peer);
}

const X kLaunch{"cuda_runtime", "cudaLaunchKernelExC", 1, 40, 5, R"({"correlation": 7})"};
const X kSendRecv{"kernel", "ncclDevKernel_SendRecv(x)", 9, 60, 30, R"({"correlation": 7})"};

// What batch_isend_irecv enqueues runs as one kernel, launched behind, that says nothing of it.
TEST_F(ChromeTraceImport, SendsAndReceivesOfAGroupGoToTheirKernel) {
  for (const auto& [rank, peer] : {std::pair(2, 6), std::pair(6, 2)}) {
    Write(rank, 8,
          {{"cpu_op", "c10d::send", 1, 10, 9},
           {"cpu_op", "record_param_comms", 1, 11, 5, Sent("send", "Dst", peer)},
           {"cpu_op", "c10d::recv_", 1, 20, 9},
           {"cpu_op", "record_param_comms", 1, 21, 5, Sent("recv", "Src", peer)},
           kLaunch,
           kSendRecv});
  }
  const ImportReport report = Import();
  EXPECT_EQ(report.collectives, 4u);
  EXPECT_EQ(report.collectives_unmatched, 0u);
  const std::vector<SeenCollective> seen = sink.Collectives(2);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].row.interval, seen[1].row.interval);
  EXPECT_EQ(seen[0].row.operation, CollectiveOperation::kSend);
  EXPECT_EQ(seen[1].row.operation, CollectiveOperation::kRecv);
  for (const SeenCollective& operation : seen) {
    EXPECT_EQ(operation.row.peer, 6);
    EXPECT_EQ(operation.row.bytes, 200u);
    EXPECT_EQ(operation.communicator.description, "pp");
  }
}

// PyTorch 1.13 to 2.3 says the ends in an annotation, by their ranks in the group, or, where shapes
// are recorded, in the operator's arguments.
TEST_F(ChromeTraceImport, OlderVersionsSayTheEndsOfASend) {
  const std::string header =
      R"(, "pg_config": [{"pg_name": "5", "pg_desc": "pp", "pg_size": 2, "ranks": [2, 6]}])";
  Write(2, 8, {{"user_annotation", "nccl:send 0->1", 1, 10, 9}, kLaunch, kSendRecv}, header);
  Write(6, 8,
        {{"cpu_op", "c10d::recv_", 1, 10, 9, R"({"Concrete Inputs": ["", "", "0", "0"]})"},
         kLaunch,
         kSendRecv},
        header);
  EXPECT_EQ(Import().collectives, 2u);
  ASSERT_EQ(sink.Collectives(2).size(), 1u);
  EXPECT_EQ(sink.Collectives(2)[0].row.operation, CollectiveOperation::kSend);
  EXPECT_EQ(sink.Collectives(2)[0].row.peer, 6);
  ASSERT_EQ(sink.Collectives(6).size(), 1u);
  EXPECT_EQ(sink.Collectives(6)[0].row.operation, CollectiveOperation::kRecv);
}

// An all-to-all is made of sends and receives, too, and of none that wait for their kernel.
TEST_F(ChromeTraceImport, AnAllToAllCarriesNoSendOfItsThread) {
  Write(0, 2,
        {{"cpu_op", "c10d::send", 1, 10, 9, R"({"Concrete Inputs": ["", "", "1", "0"]})"},
         {"cpu_op", "c10d::alltoall_base_", 1, 35, 20},
         kLaunch,
         kSendRecv});
  Import();
  EXPECT_TRUE(sink.Collectives(0).empty() ||
              sink.Collectives(0)[0].row.operation == CollectiveOperation::kAllToAll);
}

TEST_F(ChromeTraceImport, ADumpBesideTheTraceTellsGroupAndSequence) {
  const std::string header =
      R"(, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}])";
  const std::string dims = R"({"Input Dims": [[8]], "Input type": ["float"]})";
  for (const int rank : {0, 1}) {
    Write(rank, 2,
          {{"cpu_op", "c10d::allreduce_", 1, 100, 20, dims},
           {"user_annotation", "gloo:all_reduce", 2, 130, 10, dims}},
          header);
    folder.Write(fmt::format("fr_rank{}.json", rank), R"({"entries": [
      {"time_created_ns": 1000050000, "collective_seq_id": 76, "process_group": ["0", "default_pg"], "is_p2p": false},
      {"time_created_ns": 1000110000, "collective_seq_id": 77, "process_group": ["0", "default_pg"], "is_p2p": false},
      {"time_created_ns": 1000111000, "collective_seq_id": 5, "process_group": ["0", "default_pg"], "is_p2p": true}]})");
  }
  EXPECT_EQ(Import().collectives, 2u);
  EXPECT_EQ(sink.Collectives(0)[0].row.sequence, 77u);
}

TEST_F(ChromeTraceImport, LongTracesBecomeManyBatches) {
  std::vector<X> events;
  for (int i = 0; i < 20'000; ++i)
    events.push_back({"cpu_op", "op" + std::to_string(i % 100), 1, i, 1});
  Write(0, 1, events);
  const ImportReport report = Import();
  EXPECT_EQ(report.batches, 3u);
  EXPECT_EQ(report.intervals, 20'000u);
  EXPECT_TRUE(sink.batches.back().final);
  EXPECT_LE(sink.batches[1].functions.size(), 100u);
}

TEST_F(ChromeTraceImport, ProgressEndsAtTheWhole) {
  Write(0, 1, {{"cpu_op", "a", 1, 1, 1}});
  const std::filesystem::path path = folder.path();
  uint64_t done = 0;
  uint64_t total = 0;
  ASSERT_TRUE(ImportTraces({&path, 1}, {}, sink, [&](uint64_t d, uint64_t t) {
                done = d, total = t;
              }).ok());
  EXPECT_GT(total, 0u);
  EXPECT_EQ(done, total);
}

}  // namespace
}  // namespace eroica

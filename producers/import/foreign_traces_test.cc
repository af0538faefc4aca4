// Traces that are not as Kineto writes them: other categories, none, other phases, other vendors'
// devices, other profilers.
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

using ::testing::HasSubstr;

class ForeignTraces : public testing::Test {
 protected:
  void Write(int rank, const std::vector<std::string>& events) {
    folder.Write(fmt::format("rank{}.json", rank), fmt::format("[{}]", fmt::join(events, ",\n")));
  }
  absl::StatusOr<ImportReport> TryImport() {
    const std::filesystem::path path = folder.path();
    return ImportTraces({&path, 1}, ImportOptions(), sink, nullptr);
  }
  ImportReport Import() {
    absl::StatusOr<ImportReport> report = TryImport();
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report.ok() && report->total.closed());
    return report.ok() ? *std::move(report) : ImportReport{};
  }
  TestFolder folder;
  BatchCollector sink;
};

std::string Complete(const std::string& category, const std::string& name, int tid, int ts, int dur,
                     const std::string& args = "{}", int pid = 1) {
  const std::string cat = category.empty() ? "" : fmt::format(R"("cat": "{}", )", category);
  return fmt::format(
      R"({{"ph": "X", {}"name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {}}})",
      cat, name, pid, tid, ts, dur, args);
}
std::string PhaseEvent(char phase, const std::string& name, int tid, int ts) {
  return fmt::format(
      R"({{"ph": "{}", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": {}, "ts": {}}})", phase,
      name, tid, ts);
}
std::string ProcessEvents(int pid, const std::string& name, const std::string& label) {
  return fmt::format(
      R"({{"ph": "M", "name": "process_name", "pid": {0}, "args": {{"name": "{1}"}}}},
         {{"ph": "M", "name": "process_labels", "pid": {0}, "args": {{"labels": "{2}"}}}})",
      pid, name, label);
}

TEST_F(ForeignTraces, StepsAreStepsInAnyCategoryOfTheHost) {
  for (const char* category : {"cpu_op", "Operator", "user_annotation", "", "my_own"}) {
    sink = BatchCollector();
    Write(0, {Complete(category, "ProfilerStep#7", 1, 0, 100),
              Complete("cpu_op", "aten::mm", 1, 10, 5)});
    EXPECT_EQ(Import().ranks_with_steps, 1u) << category;
    EXPECT_EQ(sink.Intervals(0).size(), 1u) << category;
  }
}

TEST_F(ForeignTraces, AStepThatTwoCategoriesMarkIsOne) {
  Write(0, {Complete("user_annotation", "ProfilerStep#7", 1, 0, 100),
            Complete("cpu_op", "ProfilerStep#7", 1, 0, 100),
            Complete("cpu_op", "aten::mm", 1, 10, 5)});
  Import();
  EXPECT_EQ(sink.Marks(0).size(), 2u);
}

TEST_F(ForeignTraces, CopiesOfStepsOnADeviceAreNoSteps) {
  Write(0, {Complete("gpu_user_annotation", "ProfilerStep#7", 7, 0, 100, "{}", 0),
            Complete("cpu_op", "aten::mm", 1, 10, 5)});
  EXPECT_EQ(Import().ranks_with_steps, 0u);
}

TEST_F(ForeignTraces, ABeginAndItsEndAreOneInterval) {
  Write(0, {PhaseEvent('B', "ProfilerStep#3", 1, 0), PhaseEvent('B', "outer", 1, 10),
            PhaseEvent('B', "in", 1, 20), PhaseEvent('B', "elsewhere", 2, 25),
            PhaseEvent('E', "", 1, 30), PhaseEvent('E', "", 1, 60), PhaseEvent('E', "", 2, 70),
            PhaseEvent('E', "", 1, 100)});
  const ImportReport report = Import();
  EXPECT_EQ(report.total.events, 8u);
  EXPECT_EQ(report.total.imported, 8u);
  const std::vector<SeenInterval> seen = sink.Intervals(0);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].name, "outer");
  EXPECT_EQ(seen[0].duration_ns, 50'000);
  EXPECT_EQ(seen[1].name, "in");
  EXPECT_EQ(seen[1].duration_ns, 10'000);
  EXPECT_EQ(seen[2].name, "elsewhere");
  EXPECT_EQ(seen[2].duration_ns, 45'000);
  EXPECT_EQ(report.ranks_with_steps, 1u);
}

TEST_F(ForeignTraces, AnEndThatHasANameEndsWhatBearsIt) {
  Write(0, {PhaseEvent('B', "first", 1, 0), PhaseEvent('B', "second", 1, 20),
            PhaseEvent('E', "first", 1, 20), PhaseEvent('E', "second", 1, 50)});
  Import();
  const std::vector<SeenInterval> seen = sink.Intervals(0);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].duration_ns, 20'000);
  EXPECT_EQ(seen[1].duration_ns, 30'000);
}

TEST_F(ForeignTraces, WhatNothingEndsLastsToTheLastEvent) {
  Write(0, {PhaseEvent('B', "stuck", 1, 10), Complete("cpu_op", "aten::mm", 2, 20, 80)});
  const ImportReport report = Import();
  EXPECT_EQ(report.total.imported, 2u);
  ASSERT_FALSE(report.files[0].warnings.empty());
  EXPECT_THAT(report.files[0].warnings[0], HasSubstr("1 events begin in it (phase B)"));
  EXPECT_EQ(sink.Intervals(0)[0].duration_ns, 90'000);
}

TEST_F(ForeignTraces, DurationsThatAreLeftOutAreNotCalledInstants) {
  Write(0, {PhaseEvent('E', "x", 1, 5), PhaseEvent('b', "x", 1, 6), PhaseEvent('e', "x", 1, 7),
            PhaseEvent('i', "x", 1, 8), Complete("cpu_op", "aten::mm", 1, 10, 5)});
  const ImportReport report = Import();
  EXPECT_EQ(report.total.skipped.of(DropReason::kUnpairedDuration), 3u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kUnknownPhase), 1u);
  EXPECT_THAT(report.ToText(), HasSubstr("3 durations of no thread, or without an end"));
  EXPECT_THAT(report.ToText(), HasSubstr("1 metadata and instants"));
}

// As torch_npu writes them: events of the device and of CANN have no category.
std::vector<std::string> Ascend(int pid) {
  const std::string stream = R"({"Task Type": "AI_CORE", "Stream Id": 3})";
  return {ProcessEvents(pid, "Python", "CPU"),
          ProcessEvents(800, "Ascend Hardware", "NPU"),
          ProcessEvents(810, "HCCL", "NPU"),
          ProcessEvents(820, "Overlap Analysis", "NPU"),
          Complete("cpu_op", "ProfilerStep#5", pid, 0, 1000, "{}", pid),
          Complete("cpu_op", "aten::mm", pid, 10, 20, "{}", pid),
          Complete("", "MatMulV2", 3, 20, 400, stream, 800),
          Complete("", "EVENT_WAIT", 3, 420, 100, stream, 800),
          Complete("", "MEMCPY_ASYNC", 3, 520, 10, stream, 800),
          Complete("", "hcom_allReduce__6_1_1", 0, 500, 100,
                   R"({"count": 8, "data_type": "BFP16"})", 810),
          Complete("", "Notify_Wait", 1, 500, 50, R"({"notify_id": 1})", 810),
          Complete("", "Computing", 0, 20, 400, "{}", 820),
          Complete("", "AscendCL@aclrtSynchronizeStream", pid, 30, 600, "{}", pid + 100'000)};
}

TEST_F(ForeignTraces, DevicesOfOtherVendorsAreNoWorkOfTheHost) {
  Write(0, Ascend(1000));
  Write(1, Ascend(1001));
  const ImportReport report = Import();
  EXPECT_EQ(report.collectives, 2u);
  const std::vector<SeenInterval> seen = sink.Intervals(0);
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[0].name, "aten::mm");
  EXPECT_EQ(seen[1].name, "MatMulV2");
  EXPECT_EQ(seen[1].function_class, FunctionClass::kGpuCompute);
  EXPECT_EQ(seen[1].lane.kind, LaneKind::kDeviceStream);
  EXPECT_EQ(seen[2].name, "AscendCL@aclrtSynchronizeStream");
  EXPECT_EQ(seen[2].lane.kind, LaneKind::kTrainingThread);
  EXPECT_EQ(seen[3].name, "hcom_allReduce_");
  EXPECT_EQ(seen[3].function_class, FunctionClass::kCollective);
  EXPECT_EQ(sink.Collectives(0).at(0).row.bytes, 16u);
  EXPECT_EQ(seen[4].name, "MEMCPY_ASYNC");
  EXPECT_EQ(seen[4].function_class, FunctionClass::kMemoryOp);
}

// Without metadata the tasks' own arguments say it.
TEST_F(ForeignTraces, ADeviceIsKnownByItsStreams) {
  Write(0, {Complete("", "hcom_allReduce__6_1_1", 0, 500, 100, R"({"count": 8})", 810),
            Complete("", "MatMulV2", 3, 20, 400, R"({"Stream Id": 3})", 800),
            Complete("", "Computing", 0, 20, 400, "{}", 820),
            Complete("cpu_op", "aten::mm", 1, 10, 20)});
  Import();
  const std::vector<SeenInterval> seen = sink.Intervals(0);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1].lane.kind, LaneKind::kDeviceStream);
  EXPECT_EQ(seen[2].lane.kind, LaneKind::kDeviceStream);
}

TEST_F(ForeignTraces, CollectivesOfSeveralGroupsWithoutMembersAreNotMatched) {
  for (const int rank : {0, 1}) {
    Write(rank, {Complete("", "hcom_allReduce__6_1_1", 0, 500, 100, "{}", 810),
                 Complete("", "hcom_allReduce__7_1_1", 1, 700, 100, "{}", 810),
                 Complete("cpu_op", "aten::mm", 1, 10, 20)});
  }
  const ImportReport report = Import();
  EXPECT_EQ(report.collectives, 0u);
  EXPECT_EQ(report.collectives_unmatched, 4u);
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_THAT(report.warnings[0], HasSubstr("several process groups"));
}

TEST_F(ForeignTraces, AFileOfWhichNothingWasUsedIsRefused) {
  Write(0, {PhaseEvent('i', "x", 1, 5), PhaseEvent('b', "x", 1, 6)});
  Write(1, {Complete("cpu_op", "aten::mm", 1, 10, 20)});
  const ImportReport report = Import();
  EXPECT_TRUE(report.files[0].refused);
  EXPECT_THAT(report.files[0].warnings.at(0), HasSubstr("none of its 2 events is an interval"));
  EXPECT_EQ(report.ranks, std::vector<uint32_t>{1});
}

TEST_F(ForeignTraces, TracesOfXlaGetAdviceForJax) {
  Write(0, {ProcessEvents(701, "/host:CPU", ""),
            Complete("", "train", 5, 0, 100, R"({"step_num": "0"})", 701),
            Complete("", "$j.py:21 slow_host", 5, 5, 50, "{}", 701)});
  const absl::StatusOr<ImportReport> report = TryImport();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("JAX"));
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("eroica.step()"));
}

}  // namespace
}  // namespace eroica

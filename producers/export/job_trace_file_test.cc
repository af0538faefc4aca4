#include "producers/export/job_trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "producers/import/batch_collector.h"
#include "producers/import/test_folder.h"
#include "producers/import/trace_import.h"

namespace eroica {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kStart = 1'700'000'000'000'000'000;
constexpr TimeRange kAlways{kStart, kStart + 1'000'000'000};

// A step of rank 0 or 1 of 2: Python, a kernel, a collective, a copy.
EventBatch Batch(uint32_t rank) {
  EventBatch batch;
  batch.identity = {.job = JobId("job"),
                    .rank = RankId(rank),
                    .world_size = 2,
                    .host = "host",
                    .pid = 4711,
                    .device = 1,
                    .producer = "test",
                    .window_steps = 4};
  batch.functions = {{"train.py: main", FunctionClass::kPython},
                     {"data.py: read", FunctionClass::kPython, WaitKind::kNone, 0},
                     {"gemm", FunctionClass::kGpuCompute},
                     {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", FunctionClass::kCollective},
                     {"aten::copy_", FunctionClass::kCpuOp}};
  batch.lanes = {{"main", LaneKind::kTrainingThread},
                 {"loader", LaneKind::kHostThread},
                 {"compute", LaneKind::kDeviceStream},
                 {"nccl", LaneKind::kDeviceStream}};
  batch.communicators = {{CommId(9), "0", "default_pg", 2, {0, 1}}};
  batch.intervals.push_back(kStart, 900'001, 0, 0);
  batch.intervals.push_back(kStart + 10, 100, 1, 0);
  batch.intervals.push_back(kStart + 200, 1'234, 2, 2);
  batch.intervals.push_back(kStart + 3'000, 500, 3, 3);
  batch.intervals.push_back(kStart + 5'000, 70, 4, 1);
  batch.collectives = {{3, 0, CollectiveOperation::kAllReduce, -1, 17, 4096}};
  batch.marks = {{kStart, MarkKind::kStepBegin, 40}, {kStart + 800'000, MarkKind::kStepEnd, 40}};
  return batch;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");  // also of what is not compressed
  char part[4'096];
  for (int read = 0; (read = gzread(file, part, sizeof(part))) > 0;)
    text.append(part, static_cast<size_t>(read));
  gzclose(file);
  return text;
}

class JobTraceFileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::unique_ptr<JobTraceFile> Create(const std::string& name, JobTraceOptions options) {
    auto trace = JobTraceFile::Create(Path(name), std::move(options));
    EXPECT_TRUE(trace.ok()) << trace.status();
    return *std::move(trace);
  }
  static JobTraceOptions Of(std::initializer_list<uint32_t> ranks, TimeRange range = kAlways) {
    JobTraceOptions options;
    for (const uint32_t rank : ranks) options.ranks[rank] = range;
    return options;
  }
  json Written(const std::string& name) const { return json::parse(ReadFile(Path(name))); }

  const TestFolder folder_;
};

using Row = std::tuple<int64_t, int64_t, std::string, std::string, LaneKind, std::string>;

std::vector<Row> Rows(const BatchCollector& read, uint32_t rank) {
  std::vector<Row> rows;
  for (const SeenInterval& seen : read.Intervals(rank))
    rows.emplace_back(seen.start_ns, seen.duration_ns, seen.name, seen.stack, seen.lane.kind,
                      seen.lane.name);
  return rows;
}

TEST_F(JobTraceFileTest, TheImporterReadsARanksEventsBack) {
  for (const uint32_t rank : {0u, 1u}) {
    const auto trace = Create("rank" + std::to_string(rank) + ".json.gz", Of({rank}));
    for (const uint32_t other : {0u, 1u}) ASSERT_TRUE(trace->Add(Batch(other)).ok());
    ASSERT_TRUE(trace->Finish().ok());
    EXPECT_THAT(trace->ranks(), ElementsAre(rank));
  }
  BatchCollector read;
  ImportOptions options;
  options.job = JobId("job");
  const absl::StatusOr<ImportReport> report =
      ImportTraces(std::vector{folder_.path()}, options, read, [](uint64_t, uint64_t) {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->warnings, IsEmpty()) << report->ToText();
  for (const uint32_t rank : {0u, 1u}) {
    BatchCollector written;
    ASSERT_TRUE(written.Write(Batch(rank)).ok());
    EXPECT_EQ(Rows(read, rank), Rows(written, rank));
    EXPECT_EQ(read.Marks(rank), written.Marks(rank));
    ASSERT_EQ(read.Collectives(rank).size(), 1);
    EXPECT_EQ(read.Collectives(rank)[0].row.sequence, 17);
    EXPECT_EQ(read.Collectives(rank)[0].row.bytes, 4096);
    EXPECT_EQ(read.Collectives(rank)[0].communicator.ranks, std::vector<uint32_t>({0, 1}));
    EXPECT_EQ(read.First(rank).identity.device, 1);
    EXPECT_EQ(read.First(rank).identity.host, "host");
  }
}

TEST_F(JobTraceFileTest, OneProcessARankAndOneTrackALane) {
  const auto trace = Create("job.json", Of({0, 1}));
  for (const uint32_t rank : {1u, 0u}) ASSERT_TRUE(trace->Add(Batch(rank)).ok());
  ASSERT_TRUE(trace->Finish().ok());
  std::map<int, std::string> processes;
  std::map<int, std::set<std::string>> tracks;
  std::map<int, std::set<int>> ids;
  const json trace_events = Written("job.json").at("traceEvents");
  for (const json& event : trace_events) {
    const int pid = event.at("pid");
    if (event.at("name") == "process_name") processes[pid] = event.at("args").at("name");
    if (event.at("name") == "thread_name")
      tracks[pid].insert(event.at("args").at("name").get<std::string>());
    if (event.at("ph") == "X") ids[pid].insert(event.at("tid").get<int>());
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "rank 0"}, {1, "rank 1"}}));
  for (const int pid : {0, 1}) {
    EXPECT_EQ(tracks[pid], (std::set<std::string>{"main", "loader", "compute", "nccl", "steps"}));
    EXPECT_EQ(ids[pid].size(), 5);
  }
}

// Trace viewers leave out what lies on a track half in, half behind another event.
TEST_F(JobTraceFileTest, AStepDoesNotShareATrackWithWhatItOverlaps) {
  EventBatch batch = Batch(0);
  batch.marks[1].time_ns = kStart + 950'000;  // behind the end of main
  const auto trace = Create("job.json", Of({0}));
  ASSERT_TRUE(trace->Add(batch).ok());
  ASSERT_TRUE(trace->Finish().ok());
  std::map<std::string, int> tracks;
  const json trace_events = Written("job.json").at("traceEvents");
  for (const json& event : trace_events) {
    if (event.at("ph") == "X") tracks[event.at("name")] = event.at("tid");
  }
  EXPECT_NE(tracks.at("ProfilerStep#40"), tracks.at("train.py: main"));
}

TEST_F(JobTraceFileTest, AFindingIsAnIntervalWithItsSentenceOnATrackOfItsOwn) {
  const TimeRange range{kStart, kStart + 5'000};
  const auto trace = Create("job.json", Of({0, 1}, range));
  for (const uint32_t rank : {0u, 1u}) ASSERT_TRUE(trace->Add(Batch(rank)).ok());
  ASSERT_TRUE(trace->AddFinding(1, "Rank 1 is slow.", {{"why", "its kernels take longer"}}).ok());
  ASSERT_TRUE(trace->Finish().ok());
  std::vector<json> findings;
  const json trace_events = Written("job.json").at("traceEvents");
  for (const json& event : trace_events) {
    if (event.value("cat", "") == "finding") findings.push_back(event);
  }
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].at("pid"), 1);
  EXPECT_EQ(findings[0].at("name"), "Rank 1 is slow.");
  EXPECT_EQ(findings[0].at("ts"), 0.0);
  EXPECT_EQ(findings[0].at("dur"), 5.0) << "microseconds: the range";
  EXPECT_EQ(findings[0].at("args").at("why"), "its kernels take longer");
}

TEST_F(JobTraceFileTest, RanksShareTheRoomEquallyAndWhatIsLeftOutIsCounted) {
  JobTraceOptions options = Of({0, 1});
  options.intervals_max = 6;
  const auto trace = Create("job.json", options);
  for (const uint32_t rank : {0u, 1u}) ASSERT_TRUE(trace->Add(Batch(rank)).ok());
  ASSERT_TRUE(trace->Finish().ok());
  EXPECT_EQ(trace->intervals(), 6);
  EXPECT_EQ(trace->intervals_left_out(), 4);
  options.bytes_max = 1;
  const auto small = Create("small.json", options);
  for (const uint32_t rank : {0u, 1u}) ASSERT_TRUE(small->Add(Batch(rank)).ok());
  ASSERT_TRUE(small->Finish().ok());
  EXPECT_EQ(small->intervals(), 3) << "the first batch, within its share; then it is full";
  EXPECT_EQ(small->intervals_left_out(), 7);
}

TEST_F(JobTraceFileTest, HostileNamesLeaveItJson) {
  EventBatch batch = Batch(0);
  batch.functions[2].name = "k\x1b[31m\"\\\n</script>";
  batch.lanes[2].name = "l\"\n";
  batch.identity.host = "h\"\n";
  const auto trace = Create("job.json", Of({0}));
  ASSERT_TRUE(trace->Add(batch).ok());
  ASSERT_TRUE(trace->AddFinding(0, "t\"\n", {{"a\"", "b\n"}}).ok());
  ASSERT_TRUE(trace->Finish().ok());
  EXPECT_EQ(Written("job.json").at("host_name"), "h\"\n");
}

TEST_F(JobTraceFileTest, AFileThatIsThereStaysAndOneThatWasNotFinishedGoes) {
  folder_.Write("there.json", "mine");
  EXPECT_TRUE(absl::IsAlreadyExists(JobTraceFile::Create(Path("there.json"), Of({0})).status()));
  EXPECT_EQ(ReadFile(Path("there.json")), "mine");
  { ASSERT_TRUE(Create("half.json", Of({0}))->Add(Batch(0)).ok()); }
  EXPECT_FALSE(std::filesystem::exists(Path("half.json")));
  EXPECT_TRUE(absl::IsUnavailable(JobTraceFile::Create(Path("no/such.json"), Of({0})).status()));
}

TEST_F(JobTraceFileTest, WithoutABatchItIsAnEmptyTrace) {
  ASSERT_TRUE(Create("none.json", Of({0}))->Finish().ok());
  EXPECT_THAT(Written("none.json").at("traceEvents"), IsEmpty());
}

}  // namespace
}  // namespace eroica

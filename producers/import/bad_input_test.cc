// Input as it comes from crashed jobs, full disks and wrong folders: nothing crashes, nothing is
// lost silently, the rest still counts.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <string>

#include "producers/import/batch_collector.h"
#include "producers/import/function_table.h"
#include "producers/import/test_folder.h"
#include "producers/import/trace_import.h"
#include "schemas/test_encoder.h"
#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

std::string Event(std::string_view category, std::string_view name, std::string_view ts,
                  std::string_view dur, std::string_view args = "{}") {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {}, "args": {}}})",
      category, name, ts, dur, args);
}

std::string Trace(int rank, int world_size, const std::string& events) {
  return fmt::format(
      R"({{"distributedInfo": {{"backend": "gloo", "rank": {}, "world_size": {}}}, "traceEvents": [{}], "traceName": "t"}})",
      rank, world_size, events);
}

std::string ManyEvents(int count) {
  std::string events;
  for (int i = 0; i < count; ++i)
    events += (i == 0 ? "" : ", ") +
              Event("cpu_op", fmt::format("op{}", i % 7), fmt::format("{}", 10 * i), "5");
  return events;
}

class BadInput : public testing::Test {
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
    for (const FileReport& file : NotEmpty(report->files))
      EXPECT_TRUE(file.counts.closed()) << file.path;
    return *std::move(report);
  }
  static void ExpectSays(const std::vector<std::string>& warnings, std::string_view text) {
    const bool found = std::any_of(warnings.begin(), warnings.end(), [&](const std::string& w) {
      return w.find(text) != std::string::npos;
    });
    EXPECT_TRUE(found) << "no warning says: " << text
                       << (warnings.empty() ? "" : "; the first: " + warnings[0]);
  }

  TestFolder folder;
  BatchCollector sink;
};

TEST_F(BadInput, TruncatedGzipKeepsWhatWasWhole) {
  const std::string gzip = TestFolder::Gzip(Trace(0, 1, ManyEvents(5'000)));
  folder.Write("rank0.json.gz", gzip.substr(0, gzip.size() / 2));
  const ImportReport report = Import();
  EXPECT_GT(report.total.imported, 1'000u);
  EXPECT_LT(report.total.imported, 5'000u);
  ExpectSays(report.files[0].warnings, "the gzip data is cut off");
  EXPECT_EQ(sink.batches.back().losses.size(),
            report.total.skipped.of(DropReason::kTruncatedInput));
}

TEST_F(BadInput, CorruptGzipKeepsWhatWasWhole) {
  std::string gzip = TestFolder::Gzip(Trace(0, 1, ManyEvents(5'000)));
  for (size_t i = 0; i < 32; ++i) gzip[gzip.size() / 2 + i] = static_cast<char>(0xA5 ^ i);
  folder.Write("rank0.json.gz", gzip);
  const ImportReport report = Import();
  EXPECT_GT(report.total.events, 0u);
  EXPECT_FALSE(report.files[0].warnings.empty());
}

TEST_F(BadInput, SeveralGzipMembersAreOneFile) {
  const std::string trace = Trace(0, 1, ManyEvents(100));
  folder.Write("rank0.json.gz",
               TestFolder::Gzip(trace.substr(0, 777)) + TestFolder::Gzip(trace.substr(777)));
  EXPECT_EQ(Import().total.imported, 100u);
}

TEST_F(BadInput, JsonCutMidway) {
  const std::string trace = Trace(0, 1, ManyEvents(1'000));
  folder.Write("rank0.json", trace.substr(0, trace.size() / 2));
  const ImportReport report = Import();
  EXPECT_EQ(report.total.skipped.of(DropReason::kTruncatedInput), 1u);
  EXPECT_EQ(report.total.events, report.total.imported + 1);
  ExpectSays(report.files[0].warnings, "the file is incomplete");
  ASSERT_EQ(sink.batches.back().losses.size(), 1u);
  EXPECT_EQ(sink.batches.back().losses[0].reason, DropReason::kTruncatedInput);
}

TEST_F(BadInput, FilesThatAreNoTraces) {
  folder.Write("rank0.json", Trace(0, 1, ManyEvents(3)));
  folder.Write("rank1.json", "");
  folder.Write("rank2.json", "not json");
  folder.Write("rank3.json", R"({"a": [1, 2]})");
  folder.Write("rank4.csv", "a,b\n1,2\n");
  const ImportReport report = Import();
  EXPECT_EQ(report.ranks, std::vector<uint32_t>{0});
  for (size_t i = 1; i < 5; ++i) {
    EXPECT_TRUE(report.files[i].refused);
    EXPECT_EQ(report.files[i].warnings.size(), 1u);
  }
}

TEST_F(BadInput, NothingUsableIsAnErrorThatSaysWhy) {
  EXPECT_EQ(TryImport().status().code(), absl::StatusCode::kNotFound);  // an empty folder
  folder.Write("x.json", "not json");
  const absl::StatusOr<ImportReport> report = TryImport();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(std::string(report.status().message()).find("not JSON"), std::string::npos)
      << report.status();
  const std::filesystem::path absent = folder.path() / "absent";
  EXPECT_EQ(ImportTraces({&absent, 1}, {}, sink, nullptr).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(BadInput, ARecordingSaysHowItIsRead) {
  std::filesystem::create_directories(folder.path() / "eroica.events");
  folder.Write("eroica.events/topic.json", "{}");
  EXPECT_NE(std::string(TryImport().status().message()).find("eroica node --recording"),
            std::string::npos)
      << TryImport().status();
}

TEST_F(BadInput, DumpsThatAreNoneSaySo) {
  folder.Write("fr_rank0.json", "{}");
  const absl::StatusOr<ImportReport> report = TryImport();
  EXPECT_NE(std::string(report.status().message()).find("it has no list \"entries\""),
            std::string::npos)
      << report.status();
}

TEST_F(BadInput, TimesThatCannotBe) {
  folder.Write(
      "rank0.json",
      Trace(0, 1,
            Event("cpu_op", "good", "1", "2") + "," + Event("cpu_op", "negative", "1", "-2") + "," +
                Event("cpu_op", "early", "-5", "2") + "," + Event("cpu_op", "huge", "1e300", "2") +
                "," + Event("cpu_op", "long", "1", "4e15") + "," +
                Event("cpu_op", "text", "\"x\"", "2") + "," + Event("cpu_op", "zero", "3", "0") +
                "," + R"({"ph": "X", "cat": "cpu_op", "name": "no time"})"));
  const ImportReport report = Import();
  EXPECT_EQ(report.total.events, 8u);
  EXPECT_EQ(report.total.imported, 3u);  // a long one is no impossible one
  EXPECT_EQ(report.total.skipped.of(DropReason::kNegativeDuration), 1u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kTimeOutOfRange), 3u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kMalformedEvent), 1u);
  EXPECT_EQ(sink.batches.back().losses.size(), 3u);
}

TEST_F(BadInput, TimeBeyondTheRangeOnlyWithItsBase) {
  folder.Write("rank0.json", R"({"baseTimeNanoseconds": 4611686018427387000, "traceEvents": [)" +
                                 Event("cpu_op", "a", "0", "0.1") + "," +
                                 Event("cpu_op", "b", "5", "1") + "]}");
  const ImportReport report = Import();
  EXPECT_EQ(report.total.imported, 1u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kTimeOutOfRange), 1u);
}

TEST_F(BadInput, EventsThatAreNone) {
  folder.Write(
      "rank0.json",
      Trace(
          0, 1,
          R"(17, null, "x", [1, [2]], {}, {"ph": 3}, {"ph": "X"}, {"ph": "i", "ts": 1}, {"a": {"b": }}, )" +
              Event("cpu_op", "good", "1", "2")));
  const ImportReport report = Import();
  EXPECT_EQ(report.total.events, 10u);
  EXPECT_EQ(report.total.imported, 1u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kUnknownPhase), 2u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kMalformedEvent), 7u);
}

TEST_F(BadInput, TwoFilesOfOneRank) {
  folder.Write("a_rank0.json", Trace(0, 2, ManyEvents(3)));
  folder.Write("b_rank0.json", Trace(0, 2, ManyEvents(4)));
  folder.Write("c_rank1.json", Trace(1, 2, ManyEvents(5)));
  const ImportReport report = Import();
  EXPECT_EQ(report.ranks, (std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(report.files[1].refused);
  EXPECT_EQ(report.total.skipped.of(DropReason::kConflictingRank), 4u);
  EXPECT_EQ(report.total.imported, 8u);
  ExpectSays(report.files[1].warnings, "a second trace of rank 0 (the first is a_rank0.json)");
}

TEST_F(BadInput, TwoJobsInOneFolder) {
  folder.Write("rank0.json", Trace(0, 2, ManyEvents(3)));
  folder.Write("rank1.json", Trace(1, 4, ManyEvents(3)));
  const absl::StatusOr<ImportReport> report = TryImport();
  EXPECT_EQ(report.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(report.status().message()).find("each job in a folder of its own"),
            std::string::npos)
      << report.status();
  EXPECT_TRUE(sink.batches.empty());
}

TEST_F(BadInput, TwoJobsToldByTheirGroups) {
  const auto trace = [](int rank, const char* ranks) {
    return fmt::format(
        R"({{"distributedInfo": {{"rank": {}, "world_size": 4, "pg_config": [{{"pg_name": "7", "pg_desc": "dp", "pg_size": 2, "ranks": {}}}]}},
                          "traceEvents": [{}]}})",
        rank, ranks, ManyEvents(2));
  };
  folder.Write("rank0.json", trace(0, "[0, 1]"));
  folder.Write("rank2.json", trace(2, "[0, 2]"));
  EXPECT_EQ(TryImport().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(BadInput, GroupWithMembersOutsideTheWorld) {
  folder.Write(
      "rank0.json",
      R"({"distributedInfo": {"rank": 0, "world_size": 1, "pg_config": [{"pg_name": "0", "pg_desc": "d", "ranks": [5]}]}, "traceEvents": [)" +
          Event("user_annotation", "gloo:all_reduce", "1", "2",
                R"({"Collective name": "allreduce", "Process Group Name": "0"})") +
          "]}");
  ExpectSays(Import().files[0].warnings, "names rank 5 in a job of 1 ranks");
  for (const Communicator& communicator : sink.batches[0].communicators)
    EXPECT_TRUE(communicator.ranks.empty());
}

// A batch closes before its function table outgrows a payload.
TEST_F(BadInput, ManyLongNames) {
  std::string events;
  for (int i = 0; i < 5'000; ++i)
    events += (i == 0 ? "" : ",") +
              Event("cpu_op", std::string(3'990, 'x') + std::to_string(i), std::to_string(i), "1");
  folder.Write("rank0.json", Trace(0, 1, events));
  EXPECT_EQ(Import().total.imported, 5'000u);
  TestEncoder encoder;
  for (const EventBatch& batch : sink.batches)
    EXPECT_LE(encoder.Encode(batch).size(), size_t{16} << 20);
}

TEST_F(BadInput, MissingRanksAreNamed) {
  folder.Write("rank1.json", Trace(1, 4, ManyEvents(3)));
  folder.Write("rank3.json", Trace(3, 4, ManyEvents(3)));
  ExpectSays(Import().warnings, "2 of 4 ranks are missing (0, 2)");
}

TEST_F(BadInput, RankOutsideItsWorld) {
  folder.Write("rank0.json", Trace(0, 2, ManyEvents(3)));
  folder.Write("rank9.json", Trace(9, 2, ManyEvents(4)));
  const ImportReport report = Import();
  EXPECT_EQ(report.total.skipped.of(DropReason::kInvalidIdentity), 4u);
  EXPECT_EQ(report.world_size, 2u);
}

TEST_F(BadInput, RankFromTheNameOfTheFile) {
  folder.Write("trace_rank-1.json", R"({"traceEvents": [)" + ManyEvents(3) + "]}");
  folder.Write("worker0_step_12.json", R"({"traceEvents": [)" + ManyEvents(3) + "]}");
  const ImportReport report = Import();
  EXPECT_EQ(report.ranks, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(report.world_size, 2u);
}

TEST_F(BadInput, InvalidUtf8InNames) {
  folder.Write("rank0.json", Trace(0, 1, Event("cpu_op", "bad\xFF\xFEname", "1", "2")));
  Import();
  EXPECT_EQ(sink.Intervals(0)[0].name, "bad\xEF\xBF\xBD\xEF\xBF\xBDname");
}

TEST_F(BadInput, NamesBeyondTheLimitStayDistinct) {
  const std::string longer(6'000, 'x');
  folder.Write("rank0.json", Trace(0, 1,
                                   Event("cpu_op", longer + "1", "1", "2") + "," +
                                       Event("cpu_op", longer + "2", "5", "2")));
  Import();
  const std::vector<SeenInterval> seen = sink.Intervals(0);
  EXPECT_LE(seen[0].name.size(), size_t{TraceFunctions::kMaxNameBytes});
  EXPECT_NE(seen[0].name, seen[1].name);
}

// The table is bounded, and so is each batch.
TEST_F(BadInput, MoreDistinctNamesThanTheTableHolds) {
  constexpr int kEvents = 150'000;
  const std::filesystem::path file = folder.path() / "rank0.json";
  {
    std::ofstream out(file);
    out << R"({"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [)";
    for (int i = 0; i < kEvents; ++i)
      out << (i == 0 ? "" : ",") << R"({"ph":"X","cat":"cpu_op","name":"op)" << i
          << R"(","pid":1,"tid":1,"ts":)" << i << R"(,"dur":1})";
    out << "]}";
  }
  class Checking final : public BatchSink {
   public:
    absl::Status Write(const EventBatch& batch) override {
      intervals += batch.intervals.size();
      functions_max = std::max(functions_max, batch.functions.size());
      return absl::OkStatus();
    }
    uint64_t intervals = 0;
    size_t functions_max = 0;
  } checking;
  ImportOptions options;
  options.function_limits.names = 100'000;
  options.sort_memory_bytes = size_t{1}
                              << 20;  // so that the intervals go through the temporary file, too
  const absl::StatusOr<ImportReport> report = ImportTraces({&file, 1}, options, checking, nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(checking.intervals, static_cast<uint64_t>(kEvents));
  EXPECT_LE(checking.functions_max, 16'384u);
  ExpectSays(report->warnings, "more distinct functions than the importer tells apart");
}

TEST_F(BadInput, DeepStacksAreCutAtTheLimit) {
  std::string events;
  constexpr int kDepth = 3'000;
  for (int i = 1; i <= kDepth; ++i) {
    events += (i == 1 ? "" : ",") +
              Event("python_function", fmt::format("deep.py({}): f{}", i, i), fmt::format("{}", i),
                    fmt::format("{}", 10'000 - 2 * i),
                    fmt::format(R"({{"Python id": {}, "Python parent id": {}}})", i, i - 1));
  }
  folder.Write("rank0.json", Trace(0, 1, events));
  EXPECT_EQ(Import().total.imported, static_cast<uint64_t>(kDepth));
  for (const EventBatch& batch : sink.batches) {
    for (size_t i = 0; i < batch.functions.size(); ++i) {
      uint32_t depth = 1;
      for (uint32_t at = batch.functions[i].parent; at != kNoParent;
           at = batch.functions[at].parent)
        ++depth;
      ASSERT_LE(depth, CodecLimits::kStackDepth);
    }
  }
}

TEST_F(BadInput, MoreThreadsThanLanes) {
  std::string events;
  for (int i = 0; i < 1'000; ++i) {
    events += fmt::format(
        R"({}{{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": {}, "ts": {}, "dur": 1}})",
        i == 0 ? "" : ",", i, i);
  }
  folder.Write("rank0.json", Trace(0, 1, events));
  EXPECT_EQ(Import().total.imported, 1'000u);
  std::set<std::string> lanes;
  for (const SeenInterval& seen : sink.Intervals(0)) lanes.insert(seen.lane.name);
  EXPECT_EQ(lanes.size(), 256u);
  EXPECT_TRUE(lanes.contains("other"));
}

TEST_F(BadInput, BrokenDumpIsSaidAndLeftOut) {
  folder.Write("rank0.json", Trace(0, 1, ManyEvents(3)));
  folder.Write("fr_rank0.pkl",
               "\x80\x02"
               "cos\nsystem\n(S'true'\ntR.");
  ExpectSays(Import().files[0].warnings, "names a class or calls a function");
}

TEST_F(BadInput, CsvWithBadRows) {
  const std::string header =
      "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
  folder.Write(
      "trace.csv",
      header +
          "0,0,0,5,forward-compute,0.1,0.2,0,0,0,0\n0,0,0,5,forward-compute,0.4\n0,0,x,5,gc,1,1,0,"
          "0,0,0\n"
          "0,0,0,5,gc,1,-1,0,0,0,0\n0,0,0,5,gc,1e99,1,0,0,0,0\n0,0,0,6,optimizer,0.4,0.1,0,0,0,0");
  const ImportReport report = Import();
  EXPECT_EQ(report.total.events, 6u);
  EXPECT_EQ(report.total.imported, 2u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kMalformedEvent), 2u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kNegativeDuration), 1u);
  EXPECT_EQ(report.total.skipped.of(DropReason::kTimeOutOfRange), 1u);
}

TEST_F(BadInput, SinkThatFailsEndsTheImport) {
  class Failing final : public BatchSink {
   public:
    absl::Status Write(const EventBatch&) override {
      return absl::ResourceExhaustedError("the disk is full");
    }
  } failing;
  folder.Write("rank0.json", Trace(0, 1, ManyEvents(3)));
  const std::filesystem::path path = folder.path();
  EXPECT_EQ(ImportTraces({&path, 1}, {}, failing, nullptr).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(BadInput, APipeForATraceIsRefusedAtOnce) {
  const std::filesystem::path pipe = std::filesystem::path(folder.path()) / "rank0.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const absl::Status status = ImportTraces({&pipe, 1}, {}, sink, nullptr).status();
  EXPECT_NE(std::string(status.message()).find("it is a pipe"), std::string::npos) << status;
}

}  // namespace
}  // namespace eroica

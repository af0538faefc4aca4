// The same job on other ways than that of the whole stream of events: summarized at the edge, and
// as Chrome traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "producers/core/edge_batch_sink.h"
#include "producers/export/chrome_trace_writer.h"
#include "producers/import/trace_import.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/recording/scratch_directory.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/topic_layout.h"
#include "tests/support/eroica_topology.h"
#include "tests/support/job_builder.h"
#include "tests/support/pipeline.h"

namespace eroica::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

const JobOptions kSlow{.ranks = 12, .fault = JobFault::kSlowKernel, .culprit = 7};
const JobOptions kSlowReader{
    .ranks = 8, .fault = JobFault::kSlowPython, .culprit = 2, .factor = 0.4};

class KeptBatches final : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    batches.push_back(batch);
    return absl::OkStatus();
  }
  std::vector<EventBatch> batches;
};

PipelineOutput WholeStream(const std::vector<EventBatch>& batches) {
  const absl::StatusOr<PipelineOutput> output =
      RunPipeline(batches, EroicaTopology(), {"in order"});
  EXPECT_TRUE(output.ok()) << output.status();
  return output.ok() ? *output : PipelineOutput();
}

PipelineOutput SummarizedAtTheEdge(const std::vector<EventBatch>& batches) {
  MemoryLog log;
  InMemoryStore store;
  EXPECT_TRUE(CreateMissingTopics(log.admin(), kDefaultTopicPrefix, TopicLayout()).ok());
  const auto producer = log.NewProducer();
  EXPECT_TRUE(producer.ok());
  EdgeBatchSink sink(producer->get(), LogBatchSinkOptions());
  for (const EventBatch& batch : batches) EXPECT_TRUE(sink.Write(batch).ok());
  EXPECT_TRUE(sink.Finish().ok());
  EXPECT_GT(sink.records(), 0);
  EXPECT_GT(sink.bytes(), 0);
  const absl::Status run = BoundedRun(log, store, EroicaTopology(), BoundedRunOptions()).Run();
  EXPECT_TRUE(run.ok()) << run;
  return ReadOutput(log, kDefaultTopicPrefix);
}

TEST(CaptureLevelOne, SaysWhatTheWholeStreamSaysByteForByte) {
  for (const JobOptions& options : {kSlow, kSlowReader, JobOptions{.job = "healthy"}}) {
    const std::vector<EventBatch> batches = BuildJob(options);
    const PipelineOutput whole = WholeStream(batches);
    const PipelineOutput edge = SummarizedAtTheEdge(batches);
    ASSERT_THAT(whole.patterns, Not(IsEmpty()));
    EXPECT_TRUE(edge.patterns == whole.patterns)
        << options.job << ": PatternBatches or CollectiveSummaries differ";
    EXPECT_EQ(edge.findings, whole.findings);
  }
}

// --- Chrome traces

std::vector<EventBatch> AsChromeTraces(const std::vector<EventBatch>& batches,
                                       const ScratchDirectory& folder) {
  const auto writer = ChromeTraceWriter::Open(folder.path());
  EXPECT_TRUE(writer.ok()) << writer.status();
  for (const EventBatch& batch : batches) EXPECT_TRUE((*writer)->Write(batch).ok());
  EXPECT_TRUE((*writer)->Finish().ok());
  KeptBatches kept;
  ImportOptions options;
  options.job = batches.front().identity.job;
  options.window_steps = batches.front().identity.window_steps;
  const auto report = ImportTraces(std::vector{std::filesystem::path(folder.path())}, options, kept,
                                   [](uint64_t, uint64_t) {});
  EXPECT_TRUE(report.ok()) << report.status();
  if (report.ok()) {
    EXPECT_THAT(report->warnings, IsEmpty()) << report->ToText();
  }
  return kept.batches;
}

std::string StackOf(const EventBatch& batch, uint32_t function) {
  std::string stack;
  for (uint32_t at = function; at != kNoParent; at = batch.functions[at].parent) {
    stack = batch.functions[at].name + (stack.empty() ? "" : std::string(kStackSeparator) + stack);
  }
  return stack;
}

// All that a Chrome trace carries, whatever the batches were cut into.
struct Content {
  std::multiset<std::tuple<uint32_t, int64_t, int64_t, std::string, FunctionClass>> intervals;
  std::multiset<std::tuple<uint32_t, int64_t, std::string, std::vector<uint32_t>,
                           CollectiveOperation, int32_t, uint64_t, uint64_t>>
      collectives;
  std::multiset<std::tuple<uint32_t, int64_t, MarkKind, int64_t>> steps;
};

Content ContentOf(const std::vector<EventBatch>& batches) {
  Content content;
  for (const EventBatch& batch : batches) {
    const uint32_t rank = batch.identity.rank.value;
    const IntervalColumns& columns = batch.intervals;
    for (size_t i = 0; i < columns.size(); ++i) {
      const FunctionDef& function = batch.functions[columns.function[i]];
      content.intervals.emplace(rank, columns.start_ns[i], columns.duration_ns[i],
                                StackOf(batch, columns.function[i]), function.function_class);
    }
    for (const Collective& row : batch.collectives) {
      const Communicator& group = batch.communicators[row.communicator];
      content.collectives.emplace(rank, columns.start_ns[row.interval], group.name, group.ranks,
                                  row.operation, row.peer, row.sequence, row.bytes);
    }
    for (const Mark& mark : batch.marks) {
      const bool step = mark.kind == MarkKind::kStepBegin || mark.kind == MarkKind::kStepEnd;
      if (step) content.steps.emplace(rank, mark.time_ns, mark.kind, mark.id);
    }
  }
  return content;
}

// Kind, culprit and function of each finding.
std::set<std::string> Verdicts(const PipelineOutput& output) {
  std::set<std::string> verdicts;
  for (const std::string& line : output.findings) {
    const nlohmann::json finding = nlohmann::json::parse(line);
    verdicts.insert(finding.at("kind").dump() + finding.at("culprits").dump() +
                    finding.at("function").dump());
  }
  return verdicts;
}

TEST(ChromeTraces, ReadBackHoldTheSameIntervalsCollectivesAndSteps) {
  const std::vector<EventBatch> batches = BuildJob(kSlowReader);
  const ScratchDirectory folder;
  const Content written = ContentOf(batches);
  const Content read = ContentOf(AsChromeTraces(batches, folder));
  ASSERT_THAT(written.collectives, Not(IsEmpty()));
  EXPECT_EQ(read.intervals, written.intervals);
  EXPECT_EQ(read.collectives, written.collectives);
  EXPECT_EQ(read.steps, written.steps);
}

TEST(ChromeTraces, ReadBackSayTheSameOfAFault) {
  for (const JobOptions& options : {kSlow, kSlowReader}) {
    const std::vector<EventBatch> batches = BuildJob(options);
    const ScratchDirectory folder;
    const std::set<std::string> expected = Verdicts(WholeStream(batches));
    ASSERT_THAT(expected, Not(IsEmpty()));
    EXPECT_EQ(Verdicts(WholeStream(AsChromeTraces(batches, folder))), expected);
  }
}

}  // namespace
}  // namespace eroica::testing

// A backlog that is larger than a node's memory: it is worked off as without a bound, none of it
// late, on the threads of a node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/align/align_processor.h"
#include "stream_ops/diagnose/diagnose_processor.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/stage_threads.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/topic_layout.h"
#include "stream_ops/summarize/summarize_processor.h"
#include "tests/support/job_builder.h"
#include "tests/support/pipeline.h"

namespace eroica::testing {
namespace {

constexpr uint32_t kRanks = 64;
constexpr int32_t kPartitions = 4;

struct Backlog {
  std::string name;
  int64_t out_of_orderness_ns = 0;
  // Of each stage.
  uint64_t summarize_bytes = 0;
  uint64_t align_bytes = 0;
  uint64_t diagnose_bytes = 0;
};

// Ranks lie unevenly over the partitions, so that some are read to their end long before others.
int32_t PartitionOf(uint32_t rank) { return rank < 6 ? 0 : rank < 18 ? 1 : rank < 38 ? 2 : 3; }

std::shared_ptr<MemoryPool> PoolOf(uint64_t bytes) {
  return bytes == 0 ? nullptr : std::make_shared<MemoryPool>(bytes);
}

Topology TopologyOf(const Backlog& backlog) {
  const StagePools pools{.summarize = PoolOf(backlog.summarize_bytes),
                         .align = PoolOf(backlog.align_bytes),
                         .diagnose = PoolOf(backlog.diagnose_bytes)};
  const SummarizeOptions summarize{.out_of_orderness_ns = backlog.out_of_orderness_ns,
                                   .memory = pools.summarize};
  const AlignOptions align{.memory = pools.align};
  const DiagnoseOptions diagnose{.memory = pools.diagnose};
  return ThreeStages([summarize] { return std::make_unique<SummarizeProcessor>(summarize); },
                     [align] { return std::make_unique<AlignProcessor>(align); },
                     [diagnose] { return std::make_unique<DiagnoseProcessor>(diagnose); }, pools);
}

// One rank of 64 is slow. In each partition the batches of its ranks come as time goes by.
void AppendJob(MemoryLog& log) {
  TopicLayout layout;
  layout.partitions.fill(kPartitions);
  ASSERT_TRUE(CreateMissingTopics(log.admin(), kDefaultTopicPrefix, layout).ok());
  std::vector<EventBatch> batches = BuildJob({.job = "backlog",
                                              .ranks = kRanks,
                                              .steps = 48,
                                              .fault = JobFault::kSlowKernel,
                                              .culprit = 9});
  std::ranges::stable_sort(batches, {}, [](const EventBatch& batch) {
    return batch.intervals.size() > 0 ? batch.intervals.start_ns.front() : 0;
  });
  TestEncoder encoder;
  std::vector<ProducerRecord> records;
  for (const EventBatch& batch : batches) {
    const Bytes bytes = encoder.Encode(batch);
    records.push_back({.topic = TopicName(kDefaultTopicPrefix, Topic::kEvents),
                       .key = EventsKey(batch.identity.job, batch.identity.rank),
                       .value = {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                       .headers = {},
                       .timestamp_ms = batch.intervals.start_ns.front() / 1'000'000,
                       .partition = PartitionOf(batch.identity.rank.value)});
  }
  AppendAll(log, std::move(records));
}

class BacklogTest : public ::testing::TestWithParam<Backlog> {
 protected:
  // Without a bound of memory, one stage after the other.
  static PipelineOutput Drained(int64_t out_of_orderness_ns) {
    MemoryLog log;
    InMemoryStore store;
    AppendJob(log);
    const Topology topology = TopologyOf({.name = "", .out_of_orderness_ns = out_of_orderness_ns});
    EXPECT_TRUE(BoundedRun(log, store, topology, {}).Run().ok());
    return ReadOutput(log, kDefaultTopicPrefix);
  }
};

TEST_P(BacklogTest, LargerThanTheMemoryItIsReadInStepAndNothingIsLate) {
  const PipelineOutput expected = Drained(GetParam().out_of_orderness_ns);
  ASSERT_FALSE(expected.findings.empty());
  MemoryLog log;
  InMemoryStore store;
  AppendJob(log);
  StageThreadsOptions options;
  options.thread.poll_records_max = 8;
  options.thread.poll_timeout = std::chrono::milliseconds(5);
  options.thread.idle_timeout = std::chrono::milliseconds(200);
  StageThreads threads(log, store, TopologyOf(GetParam()), {}, options);
  ASSERT_TRUE(threads.Start().ok());
  PipelineOutput actual;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (actual != expected && std::chrono::steady_clock::now() < deadline)
    actual = ReadOutput(log, kDefaultTopicPrefix);
  EXPECT_TRUE(threads.Stop().ok());
  EXPECT_TRUE(actual.findings == expected.findings);
  EXPECT_EQ(actual.patterns.size(), expected.patterns.size());
  for (const auto& [stage, probe] : threads.Probes()) {
    EXPECT_EQ(probe.windows_forced, 0u) << stage;
    EXPECT_FALSE(probe.events_unused.contains(DropReason::kLate)) << stage;
  }
  EXPECT_GT(threads.Probes()[std::string(kSummarizeStage)].unloads, 0u) << "there was room for all";
}

INSTANTIATE_TEST_SUITE_P(Jobs, BacklogTest,
                         ::testing::Values(Backlog{.name = "LateBySeconds",
                                                   .out_of_orderness_ns = 5'000'000'000,
                                                   .summarize_bytes = 3'000'000,
                                                   .align_bytes = 1'000'000,
                                                   .diagnose_bytes = 3'000'000},
                                           Backlog{.name = "LateByMilliseconds",
                                                   .out_of_orderness_ns = 20'000'000,
                                                   .summarize_bytes = 700'000,
                                                   .align_bytes = 300'000,
                                                   .diagnose_bytes = 3'000'000}),
                         [](const auto& parameters) { return parameters.param.name; });

}  // namespace
}  // namespace eroica::testing

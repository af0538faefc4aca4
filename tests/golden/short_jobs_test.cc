// Jobs that end are forgotten: many short ones, one after the other, leave no more behind than the
// few that are still known, and what is said of them is the same as if all were known for ever.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "state_store/in_memory_store.h"
#include "state_store/key_schema.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/topic_layout.h"
#include "tests/support/eroica_topology.h"
#include "tests/support/job_builder.h"
#include "tests/support/pipeline.h"

namespace eroica::testing {
namespace {

// Every second one with a fault.
std::vector<EventBatch> BuildShortJobs(int jobs) {
  std::vector<EventBatch> batches;
  for (int job = 0; job < jobs; ++job) {
    const std::vector<EventBatch> one =
        BuildJob({.job = fmt::format("job {}", job),
                  .ranks = 3,
                  .steps = 8,
                  .window_steps = 4,
                  .fault = job % 2 == 0 ? JobFault::kNone : JobFault::kSlowPython,
                  .seed = static_cast<uint64_t>(job)});
    batches.insert(batches.end(), one.begin(), one.end());
  }
  return batches;
}

class ShortJobsInEveryWay : public ::testing::TestWithParam<PipelineWay> {};

TEST_P(ShortJobsInEveryWay, AreDiagnosedAsIfNoneWereForgotten) {
  const std::vector<EventBatch> batches = BuildShortJobs(12);
  const auto forgetting =
      RunPipeline(batches, EroicaTopology({.silent_minutes = 1, .ended_kept = 2}), GetParam());
  const auto remembering = RunPipeline(batches, EroicaTopology(), GetParam());
  ASSERT_TRUE(forgetting.ok() && remembering.ok());
  EXPECT_GE(forgetting->findings.size(), 6u);
  EXPECT_EQ(*forgetting, *remembering);
}

INSTANTIATE_TEST_SUITE_P(EveryWay, ShortJobsInEveryWay, ::testing::ValuesIn(AllWays()),
                         [](const auto& way) { return fmt::format("way{}", way.index); });

// The jobs of which any task keeps something, and the rows that it keeps.
struct Kept {
  std::set<std::string> jobs;
  size_t rows = 0;
  size_t descriptions = 0;  // of Table::kJobs
};

// The jobs one after the other; the node is started anew before every `restart_every`th of them.
Kept KeptAfter(int jobs, const JobRetention& retention, int restart_every) {
  MemoryLog log;
  InMemoryStore store;
  TopicLayout layout;
  layout.partitions.fill(1);
  EXPECT_TRUE(CreateMissingTopics(log.admin(), kDefaultTopicPrefix, layout).ok());
  const std::vector<EventBatch> batches = BuildShortJobs(jobs);
  const Topology topology = EroicaTopology(retention);
  BoundedRunOptions options;
  options.commit_records_max = 8;
  const size_t batches_of_life =
      batches.size() / static_cast<size_t>(jobs) * static_cast<size_t>(restart_every);
  for (size_t first = 0; first < batches.size(); first += batches_of_life) {
    std::vector<const EventBatch*> in_order;
    for (size_t i = first; i < std::min(first + batches_of_life, batches.size()); ++i)
      in_order.push_back(&batches[i]);
    EXPECT_TRUE(AppendBatches(log, kDefaultTopicPrefix, in_order).ok());
    EXPECT_TRUE(BoundedRun(log, store, topology, options).Run().ok());
  }
  Kept kept;
  const absl::Status scanned =
      store.Scan(Table::kProgress, "", [&](std::string_view key, std::string_view) {
        KeyReader task(key);
        const auto name = task.TakeString();
        const auto row = DecodeProgressKey(key.substr(EncodeTaskPrefix(*name).size()));
        kept.jobs.insert(row->job.value);
        ++kept.rows;
        return true;
      });
  EXPECT_TRUE(scanned.ok()) << scanned;
  const auto count = [&](std::string_view, std::string_view) { return ++kept.descriptions > 0; };
  EXPECT_TRUE(store.Scan(Table::kJobs, "", count).ok());
  return kept;
}

class ShortJobs : public ::testing::TestWithParam<int> {};

TEST_P(ShortJobs, LeaveNoMoreThanTheFewThatAreKnown) {
  const JobRetention retention{.silent_minutes = 1, .ended_kept = 2};
  const Kept few = KeptAfter(10, retention, GetParam());
  const Kept many = KeptAfter(40, retention, GetParam());
  EXPECT_LE(many.jobs.size(), 3u);
  EXPECT_LE(many.descriptions, 3u);
  EXPECT_LE(many.rows, few.rows + few.rows / 4);
  EXPECT_EQ(KeptAfter(40, {.ended_kept = 64}, GetParam()).jobs.size(), 40u)
      << "as many are kept as were asked for";
}

INSTANTIATE_TEST_SUITE_P(RestartEvery, ShortJobs, ::testing::Values(1, 10, 40),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace eroica::testing

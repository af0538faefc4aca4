#include "stream_ops/runtime/bounded_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/testing/not_empty.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"
#include "stream_ops/runtime/topic_layout.h"

namespace eroica {
namespace {

using testing::AppendAll;
using testing::DistinctValues;
using ::testing::ElementsAre;
using testing::ReadTopic;
using testing::SortedValues;
using testing::TwoSums;

std::vector<ProducerRecord> Input() {
  std::vector<ProducerRecord> records;
  for (int window = 10; window < 20; ++window) {
    for (int amount = 1; amount <= 3; ++amount) {
      for (const char* key : {"a", "b", "c", "d", "e"}) {
        records.push_back({"eroica.events",
                           key,
                           fmt::format("{}:{}:{}", key, window, amount),
                           {},
                           window,
                           std::nullopt});
      }
    }
    records.push_back(
        {"eroica.events", "bad", fmt::format("not a record {}", window), {}, window, std::nullopt});
  }
  return records;
}

std::vector<std::string> Expected() {
  std::vector<std::string> values;
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    for (int window = 10; window < 20; ++window)
      values.push_back(fmt::format("{}:{}:6", key, window));
  }
  return values;
}

void Prepare(Log& log, int32_t partitions) {
  TopicLayout layout;
  layout.partitions.fill(partitions);
  const absl::Status status = CreateMissingTopics(log.admin(), "eroica", layout);
  ASSERT_TRUE(status.ok()) << status;
}

TEST(BoundedRun, RunsEveryStageToItsEnd) {
  const Topology topology = TwoSums();
  for (const int32_t partitions : {1, 3, 8}) {
    MemoryLog log;
    InMemoryStore store;
    Prepare(log, partitions);
    AppendAll(log, Input());
    BoundedRun run(log, store, topology, {});
    const absl::Status status = run.Run();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(SortedValues(log, "eroica.findings"), Expected());
    EXPECT_EQ(ReadTopic(log, "eroica.deadletter").size(), 10u);
    EXPECT_EQ(run.probe("first").records_processed, 160u);
    EXPECT_EQ(run.probe("second").records_processed, 50u);
    EXPECT_EQ(run.probe().records_emitted, 50u + 10u + 50u);
  }
}

TEST(BoundedRun, AnEmptyInputEnds) {
  const Topology topology = TwoSums();
  MemoryLog log;
  InMemoryStore store;
  Prepare(log, 2);
  EXPECT_TRUE(BoundedRun(log, store, topology, {}).Run().ok());
  EXPECT_TRUE(ReadTopic(log, "eroica.findings").empty());
}

TEST(BoundedRun, MissingTopicsAreAnError) {
  const Topology topology = TwoSums();
  MemoryLog log;
  InMemoryStore store;
  EXPECT_EQ(BoundedRun(log, store, topology, {}).Run().code(), absl::StatusCode::kNotFound);
}

TEST(BoundedRun, ACrashAfterAnyStepChangesNothing) {
  const Topology topology = TwoSums();
  const BoundedRunOptions options{.poll_records_max = 7, .commit_records_max = 20};
  int steps = 0;
  for (int crash_after = 0;; ++crash_after) {
    MemoryLog log;
    InMemoryStore store;
    Prepare(log, 3);
    AppendAll(log, Input());
    bool finished = false;
    {
      BoundedRun run(log, store, topology, options);
      for (int step = 0; step < crash_after && !finished; ++step) {
        const absl::StatusOr<bool> more = run.Step();
        ASSERT_TRUE(more.ok()) << more.status();
        finished = !*more;
      }
    }
    BoundedRun run(log, store, topology, options);
    const absl::Status status = run.Run();
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(DistinctValues(log, "eroica.findings"), Expected())
        << "crash after step " << crash_after;
    if (finished) {
      // The whole work was done and committed: the second run says nothing again.
      EXPECT_EQ(SortedValues(log, "eroica.findings"), Expected());
      EXPECT_EQ(ReadTopic(log, "eroica.deadletter").size(), 10u);
      break;
    }
    ++steps;
  }
  EXPECT_GT(steps, 30);  // the crashes hit every part of the run
}

TEST(BoundedRun, ACrashAfterEveryStepStillEnds) {
  const Topology topology = TwoSums();
  const BoundedRunOptions options{.poll_records_max = 64, .commit_records_max = 1};
  MemoryLog log;
  InMemoryStore store;
  Prepare(log, 1);
  AppendAll(log, Input());
  for (int i = 0; i < 4; ++i) {  // each run gets through one commit before it dies
    BoundedRun run(log, store, topology, options);
    ASSERT_TRUE(run.Step().ok());
    ASSERT_TRUE(run.Step().ok());
  }
  ASSERT_TRUE(BoundedRun(log, store, topology, options).Run().ok());
  EXPECT_EQ(DistinctValues(log, "eroica.findings"), Expected());
}

TEST(Topology, FindsItsStages) {
  const Topology topology = TwoSums();
  ASSERT_NE(topology.Find("second"), nullptr);
  EXPECT_EQ(topology.Find("second")->input, Topic::kPatterns);
  EXPECT_EQ(topology.Find("third"), nullptr);
}

TEST(Topology, TheThreeStagesFollowTheData) {
  const auto none = [] { return std::unique_ptr<Processor>(); };
  const Topology topology = ThreeStages(none, none, none);
  std::vector<std::string> names;
  for (const Stage& stage : topology.stages()) names.push_back(stage.name);
  EXPECT_THAT(names, ElementsAre("summarize", "align", "diagnose"));
}

TEST(TopicLayout, RecordsAreStampedAsTheyArrive) {
  for (const TopicSpec& spec : NotEmpty(TopicSpecs("eroica", {})))
    EXPECT_EQ(spec.config.at("message.timestamp.type"), "LogAppendTime") << spec.name;
}

TEST(TopicLayout, LeavesWhatIsThere) {
  MemoryLog log;
  Prepare(log, 3);
  Prepare(log, 5);
  EXPECT_EQ(log.admin().DescribeTopic("eroica.events")->partitions, 3);
  EXPECT_EQ(log.admin().DescribeTopic("eroica.control")->config.at("cleanup.policy"), "compact");
}

}  // namespace
}  // namespace eroica

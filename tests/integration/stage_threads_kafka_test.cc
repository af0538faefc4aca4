// The runtime alone on a real Kafka, with small stages: nodes that come and go, and a broker that
// does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/runtime/stage_threads.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"
#include "stream_ops/runtime/topic_layout.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AppendAll;
using testing::DistinctValues;
using testing::Repeats;
using testing::SortedValues;
using testing::WindowSum;

constexpr std::chrono::seconds kDeadline{120};
constexpr int kKeys = 12;

Topology TwoStages() {
  return Topology(
      {{"first", Topic::kEvents, [] { return std::make_unique<WindowSum>(Topic::kPatterns); }},
       {"second", Topic::kPatterns,
        [] { return std::make_unique<WindowSum>(Topic::kFindings, Repeats::kIgnore); }}});
}

class StageThreadsKafka : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::string> broker = SharedBroker();
    if (!broker) GTEST_SKIP() << kNoBrokerMessage;
    Use(*broker);
  }

  void Use(const std::string& broker) {
    absl::StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open({.bootstrap_servers = broker});
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    prefix_ = UniqueName("runtime");
    TopicLayout layout;
    layout.partitions.fill(4);
    absl::Status status = CreateMissingTopics(log_->admin(), prefix_, layout);
    for (const char* stage : {"first", "second"})
      status.Update(log_->admin().CreateTopic({.name = ChangelogTopic(prefix_, stage),
                                               .partitions = 4,
                                               .config = {{"cleanup.policy", "compact"}}}));
    ASSERT_TRUE(status.ok()) << status;
  }

  // Every key's windows from first on, before last; the window before last stays open.
  void Send(int first, int last) {
    std::vector<ProducerRecord> records;
    for (int window = first; window < last; ++window) {
      for (int amount = 1; amount <= 3; ++amount) {
        for (int key = 0; key < kKeys; ++key) {
          records.push_back({.topic = TopicName(prefix_, Topic::kEvents),
                             .key = fmt::format("k{}", key),
                             .value = fmt::format("k{}:{}:{}", key, window, amount),
                             .headers = {}});
        }
      }
    }
    AppendAll(*log_, std::move(records));
  }

  // What the second stage has said once windows before last were sent: the newest window is open in
  // the first, the one before it in the second.
  static std::vector<std::string> Expected(int first, int last) {
    std::vector<std::string> values;
    for (int key = 0; key < kKeys; ++key) {
      for (int window = first; window + 2 < last; ++window)
        values.push_back(fmt::format("k{}:{}:6", key, window));
    }
    std::sort(values.begin(), values.end());
    return values;
  }

  static std::vector<std::string> Merged(std::vector<std::string> one,
                                         const std::vector<std::string>& other) {
    one.insert(one.end(), other.begin(), other.end());
    std::sort(one.begin(), one.end());
    return one;
  }

  std::vector<std::string> WaitForFindings(const std::vector<std::string>& expected) {
    const auto deadline = steady_clock::now() + kDeadline;
    std::vector<std::string> values;
    do {
      values = DistinctValues(*log_, TopicName(prefix_, Topic::kFindings));
    } while (values != expected && steady_clock::now() < deadline);
    return values;
  }

  std::unique_ptr<StageThreads> StartNode(StateStore& store, int threads_per_stage = 1) {
    StageThreadsOptions options;
    options.thread.task.topic_prefix = prefix_;
    options.thread.poll_timeout = milliseconds(20);
    options.thread.commit_interval = milliseconds(50);
    options.thread.idle_timeout = std::nullopt;
    options.thread.consumer.properties["session.timeout.ms"] = "6000";
    options.thread.changelog = true;
    options.group_prefix = prefix_;
    options.threads_per_stage = threads_per_stage;
    auto node = std::make_unique<StageThreads>(*log_, store, TwoStages(),
                                               std::vector<std::string>{}, options);
    const absl::Status status = node->Start();
    EXPECT_TRUE(status.ok()) << status;
    return node;
  }

  std::unique_ptr<KafkaLog> log_;
  std::string prefix_;
  InMemoryStore store_;
};

TEST_F(StageThreadsKafka, ThreadsShareTheWork) {
  const auto node = StartNode(store_, 2);
  Send(10, 20);
  EXPECT_EQ(WaitForFindings(Expected(10, 20)), Expected(10, 20));
  const absl::Status status = node->Stop();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(StageThreadsKafka, NodesMayComeAndGo) {  // and nothing is repeated
  InMemoryStore other_store;
  auto node = StartNode(store_);
  Send(10, 20);
  EXPECT_EQ(WaitForFindings(Expected(10, 20)), Expected(10, 20));
  auto other = StartNode(other_store);
  Send(20, 30);
  EXPECT_EQ(WaitForFindings(Expected(10, 30)), Expected(10, 30));
  EXPECT_TRUE(node->Stop().ok());
  Send(30, 40);
  EXPECT_EQ(WaitForFindings(Expected(10, 40)), Expected(10, 40));
  node = StartNode(store_);  // with the store of its former life
  Send(40, 50);
  EXPECT_EQ(WaitForFindings(Expected(10, 50)), Expected(10, 50));
  EXPECT_TRUE(other->Stop().ok());
  EXPECT_TRUE(node->Stop().ok());
  EXPECT_EQ(SortedValues(*log_, TopicName(prefix_, Topic::kFindings)), Expected(10, 50));
}

TEST_F(StageThreadsKafka, ATopicThatIsMadeAnewUnderARunningNodeIsReadFromItsBeginning) {
  const auto node = StartNode(store_);
  Send(10, 20);
  EXPECT_EQ(WaitForFindings(Expected(10, 20)), Expected(10, 20));
  const std::string events = TopicName(prefix_, Topic::kEvents);
  ASSERT_TRUE(log_->admin().DeleteTopic(events).ok());
  absl::Status made;
  do {  // until the old one is gone
    made = log_->admin().CreateTopic({.name = events, .partitions = 4, .config = {}});
  } while (absl::IsAlreadyExists(made));
  ASSERT_TRUE(made.ok()) << made;
  Send(20, 23);  // fewer records than the old topic had: only so can it be noticed
  WaitForFindings(Merged(Expected(10, 21), Expected(20, 23)));
  Send(23, 30);
  // The window that was open went with the records of the old topic.
  const std::vector<std::string> expected = Merged(Expected(10, 21), Expected(20, 30));
  EXPECT_EQ(WaitForFindings(expected), expected);
  const absl::Status status = node->Stop();
  EXPECT_TRUE(status.ok()) << status;
}

// A former owner has everything of a commit in its transaction, and the commit is on its way: its
// rows are in the changelog and cannot be read yet.
TEST_F(StageThreadsKafka, ANewOwnerWaitsForTheTransactionOfTheFormerOne) {
  const std::string changelog = ChangelogTopic(prefix_, "first");
  const ChangelogRecords records(changelog, 0, {.epoch = 1, .id = 1}, 100'000);
  std::vector<ProducerRecord> rows;
  records.Put(RowName(Table::kProgress, "a"), "7", 0, &rows);
  rows.push_back(records.Committed({.restart = 0, .processed = 0}));
  auto former = log_->NewTransactionalProducer(UniqueName("former"));
  ASSERT_TRUE(former.ok()) << former.status();
  ASSERT_TRUE((*former)->BeginTransaction().ok());
  for (ProducerRecord& row : rows) ASSERT_TRUE((*former)->Append(std::move(row)).ok());
  ASSERT_TRUE((*former)->Flush(std::chrono::seconds(10)).ok());

  const Topology topology = TwoStages();
  StreamThreadOptions options;
  options.task.topic_prefix = prefix_;
  options.poll_timeout = milliseconds(20);
  options.consumer.group_id = prefix_;
  options.changelog = true;
  options.transactional_id = UniqueName("new");
  StreamThread owner(*log_, store_, topology.stages()[0], options);
  const auto run_until = [&](uint64_t tasks, std::chrono::seconds at_most) {
    const auto end = steady_clock::now() + at_most;
    while (owner.probe().tasks < tasks && steady_clock::now() < end)
      ASSERT_TRUE(owner.RunOnce(steady_clock::now()).ok());
  };
  run_until(3, kDeadline);  // the partitions that nobody is writing
  run_until(4, std::chrono::seconds(2));
  EXPECT_EQ(owner.probe().tasks, 3u);
  EXPECT_EQ(owner.probe().tasks_restoring, 1u);
  ASSERT_TRUE((*former)->CommitTransaction({}, std::chrono::seconds(10)).ok());
  run_until(4, kDeadline);
  EXPECT_EQ(owner.probe().tasks, 4u);
  const TaskId task{"first", {TopicName(prefix_, Topic::kEvents), 0}};
  EXPECT_EQ(*TaskStore(&store_, task.ToString()).Get(Table::kProgress, "a"), "7");
}

TEST_F(StageThreadsKafka, ABrokerThatDiesIsWaitedFor) {
  OwnBroker broker;
  ASSERT_FALSE(broker.address().empty());
  Use(broker.address());
  const auto node = StartNode(store_);
  Send(10, 20);
  EXPECT_EQ(WaitForFindings(Expected(10, 20)), Expected(10, 20));
  broker.Kill();
  ASSERT_TRUE(broker.Restart());
  Send(20, 30);
  EXPECT_EQ(WaitForFindings(Expected(10, 30)), Expected(10, 30));
  const absl::Status status = node->Stop();
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace eroica

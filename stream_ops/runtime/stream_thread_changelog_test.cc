// Tasks that go from node to node: each node is a thread with a store of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/stream_thread.h"
#include "stream_ops/runtime/testing/faulty_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using testing::AppendAll;
using ::testing::ElementsAre;
using testing::FaultyLog;
using testing::ReadTopic;
using testing::Repeats;
using testing::SortedValues;
using testing::WindowSum;

class StreamThreadChangelogTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    for (const char* topic : {"eroica.events", "eroica.sum-changelog"})
      ASSERT_TRUE(log_.admin().CreateTopic({topic, 2, {}, 1}).ok());
    for (const char* topic : {"eroica.patterns", "eroica.deadletter"})
      ASSERT_TRUE(log_.admin().CreateTopic({topic, 1, {}, 1}).ok());
    options_.poll_timeout = milliseconds(0);
    options_.commit_interval = milliseconds(500);
    options_.idle_timeout = std::nullopt;
    options_.changelog = true;
    options_.consumer.group_id = "sum";
    if (exactly_once()) options_.transactional_id = "sum-0";
  }
  static bool exactly_once() { return GetParam(); }

  void Send(const std::vector<std::string>& values, int32_t partition = 0) {
    std::vector<ProducerRecord> records;
    for (const std::string& value : values)
      records.push_back({"eroica.events", "", value, {}, 0, partition});
    AppendAll(inner_log_, std::move(records));
  }
  std::unique_ptr<StreamThread> NewNode(StateStore& store) {
    return std::make_unique<StreamThread>(log_, store, stage_, options_);
  }
  void StepFor(StreamThread& thread, milliseconds duration) {
    for (const TimePoint end = now_ + duration; now_ < end;) {
      now_ += milliseconds(100);
      const absl::StatusOr<milliseconds> wait = thread.RunOnce(now_);
      ASSERT_TRUE(wait.ok()) << wait.status();
    }
  }
  // A node with this store owns the tasks for a second, is sent these, and stops.
  void Own(StateStore& store, const std::vector<std::string>& values = {}) {
    auto node = NewNode(store);
    Send(values);
    StepFor(*node, milliseconds(1000));
    ASSERT_TRUE(node->Close(now_).ok());
  }
  std::vector<std::string> Sums() { return SortedValues(inner_log_, "eroica.patterns"); }

  // Those of which the changelog has a commit.
  std::set<int32_t> CommittedPartitions() {
    std::set<int32_t> partitions;
    for (const ConsumerRecord& record : ReadTopic(inner_log_, "eroica.sum-changelog")) {
      const auto entry = DecodeChangelogRecord(record);
      EXPECT_TRUE(entry.has_value());
      if (entry && entry->position) partitions.insert(record.partition);
    }
    return partitions;
  }

  MemoryLog inner_log_;
  FaultyLog log_{inner_log_};
  Stage stage_{"sum", Topic::kEvents,
               [] { return std::make_unique<WindowSum>(Topic::kPatterns, Repeats::kAdd); }};
  StreamThreadOptions options_;
  TimePoint now_{std::chrono::hours(1)};
};

TEST_P(StreamThreadChangelogTest, ANewOwnerGoesOnWhereTheFormerStoppedAndRepeatsNothing) {
  InMemoryStore first;
  InMemoryStore second;
  Own(first, {"a:1:5", "a:2:6", "b:1:1"});
  EXPECT_THAT(Sums(), ElementsAre("a:1:5"));
  auto node = NewNode(second);
  Send({"a:2:1", "a:1:9", "a:3:1", "b:2:1"});
  StepFor(*node, milliseconds(1000));
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "a:2:7", "b:1:1"));
  EXPECT_GT(node->probe().changelog_records_read, 0u);
}

TEST_P(StreamThreadChangelogTest, AnOwnerThatComesBackHasMissedNothing) {
  InMemoryStore first;
  InMemoryStore second;
  Own(first, {"a:1:5", "a:2:6"});
  Own(second, {"a:3:1", "c:1:1", "c:2:1"});
  Own(first, {"a:2:100", "c:1:100", "a:4:1"});
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "a:2:6", "a:3:1", "c:1:1"));
}

TEST_P(StreamThreadChangelogTest, AStoreOfAFormerOwnerKeepsNoRowThatWasDeletedMeanwhile) {
  InMemoryStore first;
  InMemoryStore second;
  Own(first, {"a:1:5", "a:2:6"});
  // A row that the changelog has never heard of, as one that it has forgotten.
  StateChanges changes;
  changes.Put(Table::kProgress, "b", "9");
  ASSERT_TRUE(
      TaskStore(&first, TaskId{"sum", {"eroica.events", 0}}.ToString()).Write(changes).ok());
  Own(second);
  Own(first, {"b:3:1", "b:4:1"});
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "b:3:1"));
}

// Two nodes are given the task one after the other, and the first does nothing with it: of equal
// epochs, the changelog must not be read as if the second had come late.
TEST_P(StreamThreadChangelogTest, AnOwnerThatCommittedNothingMissesNothingOfTheNext) {
  InMemoryStore first;
  InMemoryStore second;
  InMemoryStore third;
  Own(first, {"a:1:5", "a:2:6"});
  auto node = NewNode(second);
  StepFor(*node, milliseconds(100));  // restored, and dead
  node.reset();
  Own(third, {"a:3:1"});
  Own(second, {"a:2:100", "a:4:1"});
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "a:2:6", "a:3:1"));
}

TEST_P(StreamThreadChangelogTest, ARestoreThatTheStoreRefusesAtFirstLosesNoRow) {
  class BusyStore : public InMemoryStore {
   public:
    absl::Status Write(const StateChanges& changes) override {
      if (refusals-- > 0) return absl::UnavailableError("the disk is busy");
      return InMemoryStore::Write(changes);
    }
    int refusals = 3;
  };
  InMemoryStore first;
  BusyStore second;
  Own(first, {"a:1:5", "a:2:6", "b:1:1", "b:2:1"});
  auto node = NewNode(second);
  Send({"a:1:9", "b:1:9", "a:3:1"});
  StepFor(*node, milliseconds(3000));
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "a:2:6", "b:1:1"));
}

TEST_P(StreamThreadChangelogTest, ARestartReadsOnlyWhatItsStoreHasNot) {
  InMemoryStore store;
  auto node = NewNode(store);
  StepFor(*node, milliseconds(200));
  for (int window = 1; window < 400; ++window) Send({"a:" + std::to_string(window) + ":1"});
  StepFor(*node, milliseconds(40'000));
  ASSERT_TRUE(node->Close(now_).ok());
  node = NewNode(store);
  Send({"a:400:1"});
  StepFor(*node, milliseconds(1000));
  EXPECT_EQ(Sums().size(), 399u);
  EXPECT_LT(node->probe().changelog_records_read, 10u);
}

TEST_P(StreamThreadChangelogTest, TheCommitOfAStoreThatFailedIsFoundInTheChangelog) {
  class LostDiskStore : public InMemoryStore {
   public:
    absl::Status Write(const StateChanges& changes) override {
      return fails ? absl::DataLossError("disk gone") : InMemoryStore::Write(changes);
    }
    bool fails = false;
  };
  LostDiskStore first;
  auto node = NewNode(first);
  StepFor(*node, milliseconds(300));  // has the partitions
  Send({"a:1:5", "a:2:6"});
  first.fails = true;
  for (int i = 0; i < 20; ++i) {
    now_ += milliseconds(100);
    if (!node->RunOnce(now_).ok()) break;
  }
  EXPECT_EQ(node->probe().errors, 1u);
  node.reset();
  InMemoryStore second;
  Own(second, {"a:1:1", "a:3:1"});
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "a:2:6"));
}

// Both are restored in one step, and each writes once.
TEST_P(StreamThreadChangelogTest, APartitionIsReadThoughTheStoreIsFullForTheOneRestoredWithIt) {
  class FullOnceStore : public InMemoryStore {
   public:
    absl::Status Write(const StateChanges& changes) override {
      return ++writes_ == 2 ? absl::ResourceExhaustedError("full") : InMemoryStore::Write(changes);
    }

   private:
    int writes_ = 0;
  };
  FullOnceStore store;
  Send({"a:1:5", "a:2:1"}, 0);
  Send({"b:1:6", "b:2:1"}, 1);
  auto node = NewNode(store);
  StepFor(*node, milliseconds(3000));
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "b:1:6"));
}

TEST_P(StreamThreadChangelogTest, APartitionIsReadThoughTheOneRestoredWithItCannotBegin) {
  InMemoryStore store;
  Send({"a:1:5", "a:2:1"}, 0);
  Send({"b:1:6", "b:2:1"}, 1);
  log_.seeks_unavailable = 1;
  auto node = NewNode(store);
  StepFor(*node, milliseconds(3000));
  EXPECT_EQ(node->probe().retries, 1u);
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "b:1:6"));
}

TEST_P(StreamThreadChangelogTest, AStoreFromBeforeTheChangelogFillsIt) {
  InMemoryStore first;
  options_.changelog = false;
  options_.transactional_id.clear();
  Own(first, {"a:1:5", "a:2:6"});
  options_.changelog = true;
  Own(first);
  InMemoryStore second;
  Own(second, {"a:1:9", "a:3:1"});
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "a:2:6"));
}

TEST_P(StreamThreadChangelogTest, WhoMayHaveLostItsPartitionsDoesNotCommit) {
  InMemoryStore store;
  auto node = NewNode(store);
  StepFor(*node, milliseconds(300));
  Send({"a:1:5", "a:2:6"});
  log_.memberships_in_doubt = 1'000;
  StepFor(*node, milliseconds(1500));
  EXPECT_LT(log_.memberships_in_doubt, 1'000);
  EXPECT_EQ(node->probe().commits, 0u);
  EXPECT_TRUE(CommittedPartitions().empty());
  log_.memberships_in_doubt = 0;  // all are still ours
  StepFor(*node, milliseconds(3000));
  EXPECT_EQ(node->probe().commits, 1u);
  EXPECT_THAT(CommittedPartitions(), ElementsAre(0));
  EXPECT_THAT(Sums(), ElementsAre("a:1:5"));
}

TEST_P(StreamThreadChangelogTest, ALostPartitionIsNotCommitted) {
  InMemoryStore store;
  auto node = NewNode(store);
  StepFor(*node, milliseconds(300));
  Send({"a:1:5", "a:2:6"}, 0);
  Send({"b:1:7", "b:2:8"}, 1);
  log_.memberships_in_doubt = 1'000;
  StepFor(*node, milliseconds(1500));
  log_.at_next_poll.push_back([](RebalanceListener& listener, std::vector<ConsumerRecord>*) {
    listener.OnPartitionRevoked({"eroica.events", 0}, /*lost=*/true);
  });
  log_.memberships_in_doubt = 0;
  StepFor(*node, milliseconds(5000));
  EXPECT_THAT(CommittedPartitions(), ElementsAre(1));
  if (exactly_once()) {
    EXPECT_THAT(Sums(), ElementsAre("b:1:7"));
  }
}

TEST_P(StreamThreadChangelogTest, LostOutputsAreMadeAgainFromTheLastCommit) {
  InMemoryStore store;
  auto node = NewNode(store);
  StepFor(*node, milliseconds(300));
  Send({"a:1:5", "a:2:6"});
  StepFor(*node, milliseconds(1000));
  Send({"a:3:7", "a:4:8"});
  log_.flushes_lost = 1;
  StepFor(*node, milliseconds(3000));
  if (!exactly_once()) {
    EXPECT_EQ(node->probe().restarts, 1u);
  }
  EXPECT_THAT(Sums(), ElementsAre("a:1:5", "a:2:6", "a:3:7"));
}

TEST_P(StreamThreadChangelogTest, ACrashAtAnyStepLosesNothing) {
  Send({"a:1:1", "a:2:2", "b:1:3", "a:3:4", "b:2:5", "a:4:6", "b:3:7", "a:5:8"});
  const std::vector<std::string> expected = {"a:1:1", "a:2:2", "a:3:4", "a:4:6", "b:1:3", "b:2:5"};
  options_.poll_records_max = 1;
  options_.commit_records_max = 2;
  for (int steps = 1; steps < 12; ++steps) {
    MemoryLog log;
    for (const char* topic :
         {"eroica.events", "eroica.sum-changelog", "eroica.patterns", "eroica.deadletter"})
      ASSERT_TRUE(log.admin().CreateTopic({topic, 1, {}, 1}).ok());
    AppendAll(log, [&] {
      std::vector<ProducerRecord> records;
      for (const ConsumerRecord& record : ReadTopic(inner_log_, "eroica.events"))
        records.push_back({record.topic, "", record.value, {}, 0, 0});
      return records;
    }());
    for (int life = 0; life < 20; ++life) {  // each on a node of its own
      InMemoryStore store;
      StreamThread node(log, store, stage_, options_);
      for (int step = 0; step < (life == 19 ? 40 : steps); ++step) {
        now_ += milliseconds(100);
        ASSERT_TRUE(node.RunOnce(now_).ok());
      }
    }
    EXPECT_EQ(testing::DistinctValues(log, "eroica.patterns"), expected) << steps;
    if (exactly_once()) {
      EXPECT_EQ(SortedValues(log, "eroica.patterns"), expected) << steps;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, StreamThreadChangelogTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& mode) {
                           return mode.param ? "ExactlyOnce" : "AtLeastOnce";
                         });

}  // namespace
}  // namespace eroica

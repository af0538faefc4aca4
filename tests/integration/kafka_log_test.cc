// KafkaLog against a real Kafka: the conformance suite, and what only a cluster has.
#include "stream_ops/kafka/kafka_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <set>

#include "stream_ops/log/log_control_conformance.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::milliseconds kPatience{60'000};

std::unique_ptr<KafkaLog> OpenLog(const std::string& address) {
  auto log = KafkaLog::Open({.bootstrap_servers = address, .properties = {}});
  EXPECT_TRUE(log.ok()) << log.status();
  return *std::move(log);
}

class KafkaLogUnderTest final : public LogUnderTest {
 public:
  explicit KafkaLogUnderTest(const std::string& address) : log_(OpenLog(address)) {}
  Log& log() override { return *log_; }
  std::string Unique(std::string name) override {
    return names_.try_emplace(name, UniqueName(name)).first->second;
  }

 private:
  std::unique_ptr<KafkaLog> log_;
  std::map<std::string, std::string> names_;
};

std::unique_ptr<LogUnderTest> MakeKafkaLogUnderTest() {
  const auto address = SharedBroker();
  if (!address) return nullptr;
  return std::make_unique<KafkaLogUnderTest>(*address);
}

INSTANTIATE_TEST_SUITE_P(Kafka, LogConformance,
                         testing::Values(LogFactory{"Kafka", MakeKafkaLogUnderTest,
                                                    kNoBrokerMessage}),
                         [](const auto& instance) { return instance.param.name; });

class KafkaLogTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto address = SharedBroker();
    if (!address) GTEST_SKIP() << kNoBrokerMessage;
    log_ = OpenLog(*address);
  }

  std::string NewTopic(const std::string& name, int32_t partitions,
                       std::map<std::string, std::string> config = {{"retention.ms", "-1"}}) {
    const std::string topic = UniqueName(name);
    const absl::Status status = log_->admin().CreateTopic(
        {.name = topic, .partitions = partitions, .config = std::move(config)});
    EXPECT_TRUE(status.ok()) << status;
    return topic;
  }

  void Append(const std::string& topic, int32_t partitions, int count) {
    auto producer = log_->NewProducer();
    for (int i = 0; i < count; ++i)
      ASSERT_TRUE((*producer)->Append(TestRecord(topic, std::to_string(i), i % partitions)).ok());
    ASSERT_TRUE((*producer)->Flush(kPatience).ok());
  }

  std::unique_ptr<KafkaLog> log_;
};

TEST_F(KafkaLogTest, ARecordSaysWhetherTheBrokerStampedItAtItsArrival) {
  for (const bool at_arrival : {false, true}) {
    const std::string topic = NewTopic(
        "stamped", 1, {{"message.timestamp.type", at_arrival ? "LogAppendTime" : "CreateTime"}});
    Append(topic, 1, 1);
    auto consumer = log_->NewConsumer({});
    ASSERT_TRUE((*consumer)->Assign({{{topic, 0}, 0}}).ok());
    std::vector<ConsumerRecord> records;
    while (records.empty()) ASSERT_TRUE((*consumer)->Poll(kPatience, 1, &records).ok());
    EXPECT_EQ(records[0].stamped_at_arrival, at_arrival);
    EXPECT_EQ(records[0].timestamp_ms == TestRecord(topic, "0", 0).timestamp_ms, !at_arrival);
  }
}

// A member of a group that commits what it has read when a partition is taken away, as the runtime
// does.
class Member final : public RebalanceListener {
 public:
  Member(Log& log, const std::string& group, const std::string& topic,
         const std::string& assignor) {
    consumer_ = *log.NewConsumer({.group_id = group,
                                  .group_instance_id = "",
                                  .properties = {{"partition.assignment.strategy", assignor},
                                                 {"session.timeout.ms", "6000"}}});
    EXPECT_TRUE(consumer_->Subscribe({topic}, this).ok());
  }

  void Poll() {
    const absl::Status status = consumer_->Poll(std::chrono::milliseconds(20), 7, &records);
    ASSERT_TRUE(status.ok()) << status;
    for (; seen_ < records.size(); ++seen_)
      next_[{records[seen_].topic, records[seen_].partition}] = records[seen_].offset + 1;
  }
  std::optional<int64_t> OnPartitionAssigned(const TopicPartition& partition) override {
    ++assigned_count;
    next_.erase(partition);
    return std::nullopt;
  }
  void OnPartitionRevoked(const TopicPartition& partition, bool lost) override {
    ++revoked_count;
    const auto next = next_.find(partition);
    if (lost || next == next_.end()) return;
    const absl::Status status = consumer_->Commit({*next});
    EXPECT_TRUE(status.ok()) << status;
  }
  size_t assignment_size() const { return consumer_->Assignment().size(); }
  void CommitAll() {
    const absl::Status status = consumer_->Commit(next_);
    EXPECT_TRUE(status.ok()) << status;
  }

  std::vector<ConsumerRecord> records;
  int assigned_count = 0;
  int revoked_count = 0;

 private:
  std::unique_ptr<LogConsumer> consumer_;
  GroupOffsets next_;
  size_t seen_ = 0;
};

class KafkaGroupTest : public KafkaLogTest, public testing::WithParamInterface<std::string> {};

TEST_P(KafkaGroupTest, PartitionsMoveBetweenMembersAndEachRecordIsReadOnce) {
  constexpr int kPartitions = 4;
  constexpr int kRecords = 2'000;
  const std::string topic = NewTopic("group", kPartitions);
  const std::string group = UniqueName("group");
  Append(topic, kPartitions, kRecords);
  std::map<std::string, int> times_read;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto patient = [&] { return std::chrono::steady_clock::now() < deadline; };

  Member first(*log_, group, topic, GetParam());
  while (first.records.size() < kRecords / 10 && patient()) first.Poll();
  EXPECT_EQ(first.assignment_size(), size_t{kPartitions});
  {
    Member second(*log_, group, topic, GetParam());
    while ((second.assignment_size() != 2 || first.assignment_size() != 2) && patient()) {
      first.Poll();
      second.Poll();
    }
    ASSERT_EQ(first.assignment_size(), 2u);
    ASSERT_EQ(second.assignment_size(), 2u);
    EXPECT_GE(first.revoked_count, 2);
    for (int i = 0; i < 20; ++i) second.Poll();
    second.CommitAll();
    for (const ConsumerRecord& record : second.records) ++times_read[record.value];
  }
  const auto all_read = [&] {
    std::set<std::string> values;
    for (const auto& [value, times] : times_read) values.insert(value);
    for (const ConsumerRecord& record : first.records) values.insert(record.value);
    return values.size() == kRecords;
  };
  while (first.assignment_size() != kPartitions && patient()) first.Poll();
  ASSERT_EQ(first.assignment_size(), size_t{kPartitions});
  while (!all_read() && patient()) first.Poll();
  for (const ConsumerRecord& record : first.records) ++times_read[record.value];
  EXPECT_EQ(times_read.size(), size_t{kRecords});
  for (const auto& [value, times] : times_read) EXPECT_EQ(times, 1) << value;
}

INSTANTIATE_TEST_SUITE_P(Assignors, KafkaGroupTest, testing::Values("range", "cooperative-sticky"),
                         [](const auto& instance) {
                           return instance.param == "range" ? "Range" : "CooperativeSticky";
                         });

class KafkaPositionTest : public KafkaLogTest, public testing::WithParamInterface<std::string> {};

// As after retention has removed what was not read in time, or after the topic was made anew.
TEST_P(KafkaPositionTest, APositionThatIsGoneGoesOnWithTheOldestRecord) {
  const std::string topic = NewTopic("gone", 2);
  Append(topic, 2, 10);
  RecordingListener listener;
  listener.starts[{topic, 0}] = 9'000;
  listener.starts[{topic, 1}] = 3;
  auto consumer = *log_->NewConsumer({.group_id = GetParam().empty() ? "" : UniqueName("group"),
                                      .group_instance_id = "",
                                      .properties = {{"partition.assignment.strategy",
                                                      GetParam().empty() ? "range" : GetParam()}}});
  ASSERT_TRUE(consumer->Subscribe({topic}, &listener).ok());
  std::vector<ConsumerRecord> records;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (records.size() < 7 && std::chrono::steady_clock::now() < deadline) {
    const absl::Status status = consumer->Poll(std::chrono::milliseconds(100), 10, &records);
    ASSERT_TRUE(status.ok()) << status;
  }
  std::map<int32_t, std::vector<int64_t>> offsets;
  for (const ConsumerRecord& record : records) offsets[record.partition].push_back(record.offset);
  EXPECT_THAT(offsets[0], ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(offsets[1], ElementsAre(3, 4));
}

INSTANTIATE_TEST_SUITE_P(Assignors, KafkaPositionTest,
                         testing::Values("", "range", "cooperative-sticky"),
                         [](const auto& instance) {
                           return instance.param.empty()      ? "NoGroup"
                                  : instance.param == "range" ? "Range"
                                                              : "CooperativeSticky";
                         });

TEST_F(KafkaLogTest, PollingForNothingKeepsRecordsForLater) {
  const std::string topic = NewTopic("pause", 1);
  Append(topic, 1, 50);
  auto consumer = *log_->NewConsumer({});
  ASSERT_TRUE(consumer->Subscribe({topic}, nullptr).ok());
  std::vector<ConsumerRecord> records;
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(consumer->Poll(std::chrono::milliseconds(20), 0, &records).ok());
  EXPECT_TRUE(records.empty());
  EXPECT_EQ(*consumer->Position({topic, 0}), 0);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (records.size() < 50 && std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(consumer->Poll(std::chrono::milliseconds(100), 20, &records).ok());
  }
  ASSERT_EQ(records.size(), 50u);
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].value, std::to_string(i));
}

// librdkafka keeps statistics, at least 10 KB each, until the client is polled. Here every client
// that is not asked for records has them a thousand times a second.
TEST_F(KafkaLogTest, WhatClientsHaveToSayDoesNotPileUp) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "mallinfo2 knows nothing of a sanitizer's malloc";
#endif
  auto log = KafkaLog::Open(
      {.bootstrap_servers = *SharedBroker(), .properties = {{"statistics.interval.ms", "1"}}});
  ASSERT_TRUE(log.ok()) << log.status();
  const std::string topic = NewTopic("quiet", 2);
  auto asked = (*log)->NewConsumer({});
  auto producer = (*log)->NewProducer();
  auto reader = (*log)->NewConsumer({.group_id = UniqueName("reader")});
  ASSERT_TRUE((*reader)->Subscribe({topic}, nullptr).ok());
  std::vector<ConsumerRecord> records;
  const auto allocated_after = [&](std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      (*producer)->Measure();  // as whoever keeps one does
      EXPECT_TRUE((*reader)->Poll(std::chrono::milliseconds(20), 0, &records).ok());
    }
    return static_cast<int64_t>(::mallinfo2().uordblks);
  };
  // Its leader may not know a topic yet that was just made.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  absl::Status ends = (*log)->admin().EndOffsets(topic).status();
  while (!ends.ok() && std::chrono::steady_clock::now() < deadline)
    ends = (*log)->admin().EndOffsets(topic).status();
  ASSERT_TRUE(ends.ok()) << ends;
  ASSERT_TRUE((*asked)->EndOffset({topic, 0}).ok());
  ASSERT_TRUE((*producer)->Append(TestRecord(topic, "a", 0)).ok());
  ASSERT_TRUE((*producer)->Flush(kPatience).ok());
  const int64_t before = allocated_after(std::chrono::milliseconds(500));
  EXPECT_LT(allocated_after(std::chrono::milliseconds(1'000)) - before, 2'000'000);
}

TEST_F(KafkaLogTest, ARecordThatIsTooLargeIsRefused) {
  const std::string topic = NewTopic("too-large", 1);
  auto producer = *log_->NewProducer();
  const absl::Status status = producer->Append(TestRecord(topic, std::string(2'000'000, 'x')));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("message.max.bytes"));
}

TEST_F(KafkaLogTest, TopicSettingsThatAreWrongAreRefused) {
  EXPECT_EQ(
      log_->admin()
          .CreateTopic(
              {.name = UniqueName("t"), .partitions = 1, .config = {{"no.such.setting", "1"}}})
          .code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(log_->admin().CreateTopic({.name = "a b", .partitions = 1, .config = {}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      log_->admin()
          .CreateTopic(
              {.name = UniqueName("t"), .partitions = 1, .config = {}, .replication_factor = 3})
          .code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(KafkaLogTest, AStaticMemberComesBackToItsPartitionsWithoutARebalance) {
  const std::string topic = NewTopic("static", 2);
  const std::string group = UniqueName("group");
  Append(topic, 2, 10);
  for (int round = 0; round < 2; ++round) {
    auto consumer =
        *log_->NewConsumer({.group_id = group, .group_instance_id = "node-1", .properties = {}});
    ASSERT_TRUE(consumer->Subscribe({topic}, nullptr).ok());
    std::vector<ConsumerRecord> records;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (records.size() < 10 && std::chrono::steady_clock::now() < deadline) {
      ASSERT_TRUE(consumer->Poll(std::chrono::milliseconds(100), 10, &records).ok());
    }
    EXPECT_EQ(records.size(), 10u);
  }
}

// As a static member's own successor does after a broker's restart, whose heartbeats are heard
// before the next poll.
TEST_F(KafkaLogTest, AMemberThatIsFencedOffMeetsItInSeekAndPollSaysSo) {
  const std::string topic = NewTopic("fenced", 1);
  Append(topic, 1, 1);
  const ConsumerOptions options{.group_id = UniqueName("group"),
                                .group_instance_id = "node-1",
                                .properties = {{"heartbeat.interval.ms", "200"}}};
  const auto join = [&] {
    auto member = *log_->NewConsumer(options);
    EXPECT_TRUE(member->Subscribe({topic}, nullptr).ok());
    std::vector<ConsumerRecord> records;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (records.empty() && std::chrono::steady_clock::now() < deadline)
      EXPECT_TRUE(member->Poll(std::chrono::milliseconds(100), 1, &records).ok());
    EXPECT_FALSE(records.empty());
    return member;
  };
  const auto older = join();
  const auto newer = join();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  absl::Status sought;
  while (sought.ok() && std::chrono::steady_clock::now() < deadline)
    sought = older->Seek({topic, 0}, 0);
  EXPECT_EQ(sought.code(), absl::StatusCode::kUnavailable) << sought;
  for (const absl::Status& status : {older->Pause({topic, 0}), older->Resume({topic, 0})})
    EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
  absl::Status polled;
  std::vector<ConsumerRecord> records;
  while (polled.ok() && std::chrono::steady_clock::now() < deadline)
    polled = older->Poll(std::chrono::milliseconds(100), 1, &records);
  EXPECT_EQ(polled.code(), absl::StatusCode::kAborted) << polled;
}

// Goes on behind what was read last, wherever the group's commit stands: the runtime's store knows
// that.
class ResumingListener final : public RebalanceListener {
 public:
  std::optional<int64_t> OnPartitionAssigned(const TopicPartition& partition) override {
    int64_t next = 0;
    for (const ConsumerRecord& record : records) {
      if (record.partition == partition.partition) next = record.offset + 1;
    }
    return next;
  }
  void OnPartitionRevoked(const TopicPartition&, bool) override {}

  std::vector<ConsumerRecord> records;
};

TEST(KafkaBrokerTest, ABrokerThatIsKilledIsWaitedForAndTakenUpAgain) {
  if (!SharedBroker()) GTEST_SKIP() << kNoBrokerMessage;
  constexpr int kRecords = 2'000;
  OwnBroker broker;
  ASSERT_FALSE(broker.address().empty());
  auto log = OpenLog(broker.address());
  ASSERT_TRUE(log->admin().CreateTopic({.name = "t", .partitions = 2, .config = {}}).ok());
  auto producer = *log->NewProducer();
  auto consumer = *log->NewConsumer(
      {.group_id = "g", .group_instance_id = "", .properties = {{"session.timeout.ms", "6000"}}});
  ResumingListener listener;
  std::vector<ConsumerRecord>& records = listener.records;
  ASSERT_TRUE(consumer->Subscribe({"t"}, &listener).ok());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto patient = [&] { return std::chrono::steady_clock::now() < deadline; };

  for (int i = 0; i < kRecords / 2; ++i)
    ASSERT_TRUE(producer->Append(TestRecord("t", std::to_string(i), i % 2)).ok());
  ASSERT_TRUE(producer->Flush(kPatience).ok());
  while (records.size() < kRecords / 4 && patient())
    ASSERT_TRUE(consumer->Poll(std::chrono::milliseconds(100), 100, &records).ok());

  broker.Kill();
  absl::Status polled;
  while (polled.ok() && patient())
    polled = consumer->Poll(std::chrono::milliseconds(100), 100, &records);
  EXPECT_EQ(polled.code(), absl::StatusCode::kUnavailable) << polled;
  EXPECT_THAT(std::string(polled.message()), HasSubstr(broker.address()));
  for (int i = kRecords / 2; i < kRecords; ++i) {
    const absl::Status status = producer->Append(TestRecord("t", std::to_string(i), i % 2));
    ASSERT_TRUE(status.ok()) << "an outage is ridden out in the queue: " << status;
  }
  EXPECT_FALSE(producer->Flush(std::chrono::milliseconds(10)).ok());

  ASSERT_TRUE(broker.Restart());
  const absl::Status flushed = producer->Flush(kPatience);
  ASSERT_TRUE(flushed.ok()) << flushed;
  while (records.size() < kRecords && patient()) {
    const absl::Status status = consumer->Poll(std::chrono::milliseconds(100), 100, &records);
    ASSERT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
  }
  std::map<int32_t, int> next{{0, 0}, {1, 1}};
  for (const ConsumerRecord& record : records) {
    EXPECT_EQ(record.value, std::to_string(next[record.partition]));
    next[record.partition] += 2;
  }
  EXPECT_EQ(records.size(), size_t{kRecords});
}

}  // namespace
}  // namespace eroica

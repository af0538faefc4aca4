// What every Log must do, written once and run over all three (MemoryLog, RecordingLog, KafkaLog).
// Include it, and log_control_conformance.h, in one test file of a program and say
//   INSTANTIATE_TEST_SUITE_P(Memory, LogConformance, testing::Values(LogFactory{...}));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "stream_ops/log/log_under_test.h"
#include "stream_ops/log/partitioner.h"

namespace eroica {

class LogConformance : public testing::TestWithParam<LogFactory> {
 protected:
  void SetUp() override {
    under_test_ = GetParam().make();
    if (under_test_ == nullptr) GTEST_SKIP() << GetParam().missing;
  }

  Log& log() { return under_test_->log(); }
  std::string Unique(const std::string& name) { return under_test_->Unique(name); }

  std::string NewTopic(const std::string& name, int32_t partitions) {
    const std::string topic = Unique(name);
    // Kafka counts retention from the records' own times, and those of tests are long past.
    const absl::Status status = log().admin().CreateTopic(
        {.name = topic, .partitions = partitions, .config = {{"retention.ms", "-1"}}});
    EXPECT_TRUE(status.ok()) << status;
    return topic;
  }

  std::unique_ptr<LogProducer> NewProducer() {
    auto producer = log().NewProducer();
    EXPECT_TRUE(producer.ok()) << producer.status();
    return *std::move(producer);
  }

  std::unique_ptr<LogConsumer> NewConsumer(const std::string& group,
                                           std::vector<std::string> topics,
                                           RebalanceListener* listener = nullptr) {
    auto consumer =
        log().NewConsumer({.group_id = group, .group_instance_id = "", .properties = {}});
    EXPECT_TRUE(consumer.ok()) << consumer.status();
    EXPECT_TRUE((*consumer)->Subscribe(std::move(topics), listener).ok());
    return *std::move(consumer);
  }

  // `count` records with values "0", "1" ... one millisecond apart, in one partition.
  void Append(const std::string& topic, int32_t partition, int count, int first = 0) {
    auto producer = NewProducer();
    for (int i = first; i < first + count; ++i) {
      ProducerRecord record = TestRecord(topic, std::to_string(i), partition);
      record.timestamp_ms += i;
      const absl::Status status = producer->Append(std::move(record));
      ASSERT_TRUE(status.ok()) << status;
    }
    ASSERT_TRUE(producer->Flush(kPatience).ok());
  }

  // Polls until there are `count` records, or patience runs out.
  std::vector<ConsumerRecord> Read(LogConsumer& consumer, size_t count) {
    std::vector<ConsumerRecord> records;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (records.size() < count && std::chrono::steady_clock::now() < deadline) {
      const absl::Status status =
          consumer.Poll(std::chrono::milliseconds(100), count - records.size(), &records);
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) break;
    }
    EXPECT_EQ(records.size(), count);
    return records;
  }

  // Polls until partitions are assigned; takes no records.
  void AwaitAssignment(LogConsumer& consumer, size_t partitions) {
    std::vector<ConsumerRecord> none;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (consumer.Assignment().size() < partitions &&
           std::chrono::steady_clock::now() < deadline) {
      ASSERT_TRUE(consumer.Poll(std::chrono::milliseconds(20), 0, &none).ok());
    }
    ASSERT_EQ(consumer.Assignment().size(), partitions);
    ASSERT_TRUE(none.empty());
  }

  static std::vector<std::string> Values(const std::vector<ConsumerRecord>& records) {
    std::vector<std::string> values;
    for (const ConsumerRecord& record : records) values.push_back(record.value);
    return values;
  }

  static constexpr std::chrono::milliseconds kPatience{30'000};

 private:
  std::unique_ptr<LogUnderTest> under_test_;
};

TEST_P(LogConformance, RecordsComeBackAsTheyWereAppended) {
  const std::string topic = NewTopic("round-trip", 3);
  const std::string binary("\0\xff\n\0value", 9);
  auto producer = NewProducer();
  const Headers headers{
      {"schema", "EVB1"}, {"rank", "7"}, {"rank", "8"}, {"empty", ""}, {"binary", binary}};
  ProducerRecord record = TestRecord(topic, binary, 2, std::string("job\0/1", 6));
  record.headers = headers;
  record.timestamp_ms = kTestTimeMs + 5;
  ASSERT_TRUE(producer->Append(record).ok());
  ASSERT_TRUE(producer->Flush(kPatience).ok());

  auto consumer = NewConsumer("", {topic});
  const auto records = Read(*consumer, 1);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].topic, topic);
  EXPECT_EQ(records[0].partition, 2);
  EXPECT_EQ(records[0].offset, 0);
  EXPECT_EQ(records[0].timestamp_ms, kTestTimeMs + 5);
  EXPECT_EQ(records[0].key, std::string("job\0/1", 6));
  EXPECT_EQ(records[0].value, binary);
  EXPECT_EQ(records[0].headers, headers);
  EXPECT_EQ(FindHeader(records[0].headers, "rank"), "7");
  EXPECT_EQ(FindHeader(records[0].headers, "absent"), std::nullopt);
}

TEST_P(LogConformance, EmptyKeyAndValueAreRecordsToo) {
  const std::string topic = NewTopic("empty", 1);
  auto producer = NewProducer();
  ASSERT_TRUE(producer->Append(TestRecord(topic, "", std::nullopt, "")).ok());
  ASSERT_TRUE(producer->Flush(kPatience).ok());
  auto consumer = NewConsumer("", {topic});
  const auto records = Read(*consumer, 1);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].key, "");
  EXPECT_EQ(records[0].value, "");
  EXPECT_TRUE(records[0].headers.empty());
}

TEST_P(LogConformance, LargeRecordsComeBackWhole) {
  const std::string topic = NewTopic("large", 1);
  std::string incompressible(500'000, '\0');
  uint32_t state = 1;
  for (char& c : incompressible)
    c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const std::string compressible(900'000, 'e');
  auto producer = NewProducer();
  ASSERT_TRUE(producer->Append(TestRecord(topic, incompressible)).ok());
  ASSERT_TRUE(producer->Append(TestRecord(topic, compressible)).ok());
  ASSERT_TRUE(producer->Flush(kPatience).ok());
  auto consumer = NewConsumer("", {topic});
  const auto records = Read(*consumer, 2);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(records[0].value == incompressible);
  EXPECT_TRUE(records[1].value == compressible);
}

TEST_P(LogConformance, OffsetsCountFromZeroInEveryPartition) {
  const std::string topic = NewTopic("offsets", 2);
  Append(topic, 0, 5);
  Append(topic, 1, 3);
  auto consumer = NewConsumer("", {topic});
  std::map<int32_t, std::vector<int64_t>> offsets;
  for (const ConsumerRecord& record : Read(*consumer, 8))
    offsets[record.partition].push_back(record.offset);
  EXPECT_THAT(offsets[0], testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(offsets[1], testing::ElementsAre(0, 1, 2));
}

TEST_P(LogConformance, KeyDecidesThePartitionAsInKafka) {
  const std::string topic = NewTopic("keys", 7);
  auto producer = NewProducer();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(
        producer
            ->Append(TestRecord(topic, "v", std::nullopt, i == 0 ? "" : "job/" + std::to_string(i)))
            .ok());
  }
  ASSERT_TRUE(producer->Flush(kPatience).ok());
  auto consumer = NewConsumer("", {topic});
  for (const ConsumerRecord& record : Read(*consumer, 50))
    EXPECT_EQ(record.partition, PartitionForKey(record.key, 7)) << record.key;
}

TEST_P(LogConformance, PollReturnsNoMoreThanAskedFor) {
  const std::string topic = NewTopic("limit", 2);
  Append(topic, 0, 10);
  Append(topic, 1, 10);
  auto consumer = NewConsumer("", {topic});
  std::vector<ConsumerRecord> records;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (records.size() < 20 && std::chrono::steady_clock::now() < deadline) {
    const size_t before = records.size();
    ASSERT_TRUE(consumer->Poll(std::chrono::milliseconds(100), 3, &records).ok());
    EXPECT_LE(records.size() - before, 3u);
  }
  EXPECT_EQ(records.size(), 20u);
}

TEST_P(LogConformance, PollOfAnEmptyTopicIsNoError) {
  const std::string topic = NewTopic("silent", 1);
  auto consumer = NewConsumer("", {topic});
  std::vector<ConsumerRecord> records;
  EXPECT_TRUE(consumer->Poll(std::chrono::milliseconds(30), 10, &records).ok());
  EXPECT_TRUE(records.empty());
}

TEST_P(LogConformance, WhatIsAppendedLaterIsPolledLater) {
  const std::string topic = NewTopic("tail", 1);
  auto consumer = NewConsumer("", {topic});
  Append(topic, 0, 2);
  EXPECT_THAT(Values(Read(*consumer, 2)), testing::ElementsAre("0", "1"));
  Append(topic, 0, 2, 2);
  EXPECT_THAT(Values(Read(*consumer, 2)), testing::ElementsAre("2", "3"));
}

TEST_P(LogConformance, SeveralTopicsAreReadTogether) {
  const std::string first = NewTopic("first", 1);
  const std::string second = NewTopic("second", 2);
  Append(first, 0, 2);
  Append(second, 1, 2);
  auto consumer = NewConsumer("", {first, second});
  std::map<std::string, int> counts;
  for (const ConsumerRecord& record : Read(*consumer, 4)) ++counts[record.topic];
  EXPECT_EQ(counts[first], 2);
  EXPECT_EQ(counts[second], 2);
}

TEST_P(LogConformance, ListenerIsToldOnceOfEveryPartitionAndNamesTheStart) {
  const std::string topic = NewTopic("listener", 3);
  for (int32_t partition = 0; partition < 3; ++partition) Append(topic, partition, 4);
  RecordingListener listener;
  listener.starts[{topic, 1}] = 3;
  listener.starts[{topic, 2}] = 4;
  auto consumer = NewConsumer("", {topic}, &listener);
  std::map<int32_t, std::vector<int64_t>> offsets;
  for (const ConsumerRecord& record : Read(*consumer, 5))
    offsets[record.partition].push_back(record.offset);
  EXPECT_THAT(offsets[0], testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(offsets[1], testing::ElementsAre(3));
  EXPECT_TRUE(offsets[2].empty());
  const TopicPartition expected[] = {{topic, 0}, {topic, 1}, {topic, 2}};
  EXPECT_THAT(listener.assigned, testing::UnorderedElementsAreArray(expected));
  EXPECT_THAT(consumer->Assignment(), testing::UnorderedElementsAreArray(expected));
  consumer.reset();
  EXPECT_TRUE(listener.revoked.empty())
      << "a consumer that is destroyed tells nobody: its owner knows";
}

TEST_P(LogConformance, SeekGoesBackAndForth) {
  const std::string topic = NewTopic("seek", 1);
  Append(topic, 0, 10);
  auto consumer = NewConsumer("", {topic});
  Read(*consumer, 4);
  ASSERT_TRUE(consumer->Seek({topic, 0}, 1).ok());
  EXPECT_EQ(*consumer->Position({topic, 0}), 1);
  EXPECT_THAT(Values(Read(*consumer, 2)), testing::ElementsAre("1", "2"));
  ASSERT_TRUE(consumer->Seek({topic, 0}, 8).ok());
  EXPECT_THAT(Values(Read(*consumer, 2)), testing::ElementsAre("8", "9"));
  EXPECT_EQ(*consumer->Position({topic, 0}), 10);
}

TEST_P(LogConformance, SeekToTheEndReadsOnlyWhatComes) {
  const std::string topic = NewTopic("seek-end", 1);
  Append(topic, 0, 3);
  auto consumer = NewConsumer("", {topic});
  AwaitAssignment(*consumer, 1);
  ASSERT_TRUE(consumer->Seek({topic, 0}, *consumer->EndOffset({topic, 0})).ok());
  Append(topic, 0, 1, 3);
  EXPECT_THAT(Values(Read(*consumer, 1)), testing::ElementsAre("3"));
}

TEST_P(LogConformance, SeekAndPositionNeedAnAssignedPartition) {
  const std::string topic = NewTopic("unassigned", 1);
  auto consumer = NewConsumer("", {topic});
  AwaitAssignment(*consumer, 1);
  EXPECT_EQ(consumer->Seek({topic, 5}, 0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(consumer->Position({topic, 5}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(consumer->Seek({topic, 0}, -1).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(LogConformance, PositionMeetsTheEndWhenAllIsRead) {
  const std::string topic = NewTopic("end", 2);
  Append(topic, 0, 6);
  auto consumer = NewConsumer("", {topic});
  Read(*consumer, 6);
  EXPECT_EQ(*consumer->EndOffset({topic, 0}), 6);
  EXPECT_EQ(*consumer->Position({topic, 0}), 6);
  EXPECT_EQ(*consumer->EndOffset({topic, 1}), 0);
  EXPECT_EQ(*consumer->Position({topic, 1}), 0);
  EXPECT_EQ(consumer->EndOffset({topic, 9}).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(LogConformance, EndOffsetsHasEveryPartition) {
  const std::string topic = NewTopic("ends", 3);
  Append(topic, 0, 6);
  Append(topic, 2, 1);
  const auto ends = log().admin().EndOffsets(topic);
  if (absl::IsUnimplemented(ends.status())) GTEST_SKIP() << ends.status();
  ASSERT_TRUE(ends.ok()) << ends.status();
  const std::map<TopicPartition, int64_t> expected = {
      {{topic, 0}, 6}, {{topic, 1}, 0}, {{topic, 2}, 1}};
  EXPECT_EQ(*ends, expected);
  EXPECT_EQ(log().admin().EndOffsets(Unique("none")).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(LogConformance, OffsetForTimeIsTheFirstAtOrAfter) {
  const std::string topic = NewTopic("time", 1);
  Append(topic, 0, 10);  // kTestTimeMs + 0 ... + 9
  auto consumer = NewConsumer("", {topic});
  AwaitAssignment(*consumer, 1);
  EXPECT_EQ(*consumer->OffsetForTime({topic, 0}, kTestTimeMs - 1'000), 0);
  EXPECT_EQ(*consumer->OffsetForTime({topic, 0}, kTestTimeMs + 4), 4);
  EXPECT_EQ(*consumer->OffsetForTime({topic, 0}, kTestTimeMs + 9), 9);
  EXPECT_EQ(*consumer->OffsetForTime({topic, 0}, kTestTimeMs + 10), 10);
}

TEST_P(LogConformance, GroupGoesOnWhereItCommitted) {
  const std::string topic = NewTopic("commit", 1);
  const std::string group = Unique("group");
  Append(topic, 0, 6);
  {
    auto consumer = NewConsumer(group, {topic});
    Read(*consumer, 5);
    ASSERT_TRUE(consumer->Commit({{{topic, 0}, 2}}).ok());
    ASSERT_TRUE(consumer->Commit({{{topic, 0}, 4}}).ok());
  }
  auto resumed = NewConsumer(group, {topic});
  EXPECT_THAT(Values(Read(*resumed, 2)), testing::ElementsAre("4", "5"));
  auto other_group = NewConsumer(Unique("other"), {topic});
  EXPECT_EQ(Read(*other_group, 6).size(), 6u);
}

TEST_P(LogConformance, ListenersStartWinsOverTheCommit) {
  const std::string topic = NewTopic("start", 1);
  const std::string group = Unique("group");
  Append(topic, 0, 6);
  {
    auto consumer = NewConsumer(group, {topic});
    Read(*consumer, 6);
    ASSERT_TRUE(consumer->Commit({{{topic, 0}, 6}}).ok());
  }
  RecordingListener listener;
  listener.starts[{topic, 0}] = 3;
  auto consumer = NewConsumer(group, {topic}, &listener);
  EXPECT_THAT(Values(Read(*consumer, 3)), testing::ElementsAre("3", "4", "5"));
}

TEST_P(LogConformance, WithoutAGroupNothingIsCommitted) {
  const std::string topic = NewTopic("no-group", 1);
  Append(topic, 0, 2);
  for (int round = 0; round < 2; ++round) {
    auto consumer = NewConsumer("", {topic});
    EXPECT_EQ(Read(*consumer, 2).size(), 2u);
    EXPECT_TRUE(consumer->Commit({{{topic, 0}, 2}}).ok());
  }
}

TEST_P(LogConformance, TwoConsumersWithoutAGroupBothReadAll) {
  const std::string topic = NewTopic("fan-out", 2);
  Append(topic, 0, 3);
  Append(topic, 1, 3);
  auto first = NewConsumer("", {topic});
  auto second = NewConsumer("", {topic});
  EXPECT_EQ(Read(*first, 6).size(), 6u);
  EXPECT_EQ(Read(*second, 6).size(), 6u);
}

TEST_P(LogConformance, UnknownTopicIsNotFound) {
  const std::string topic = Unique("nowhere");
  EXPECT_EQ(log().admin().DescribeTopic(topic).status().code(), absl::StatusCode::kNotFound);

  auto consumer = NewConsumer("", {topic});
  std::vector<ConsumerRecord> records;
  const absl::Status polled = consumer->Poll(std::chrono::milliseconds(10), 1, &records);
  EXPECT_EQ(polled.code(), absl::StatusCode::kNotFound) << polled;
  EXPECT_THAT(std::string(polled.message()), testing::HasSubstr(topic));

  auto producer = NewProducer();
  absl::Status appended = producer->Append(TestRecord(topic, "v"));
  if (appended.ok()) appended = producer->Flush(kPatience);
  EXPECT_EQ(appended.code(), absl::StatusCode::kNotFound) << appended;
  EXPECT_THAT(std::string(appended.message()), testing::HasSubstr(topic));
}

TEST_P(LogConformance, ConsumerOfAnUnknownTopicStartsOnceItExists) {
  const std::string topic = Unique("late-topic");
  auto consumer = NewConsumer("", {topic});
  std::vector<ConsumerRecord> records;
  EXPECT_EQ(consumer->Poll(std::chrono::milliseconds(10), 1, &records).code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(log().admin().CreateTopic({.name = topic, .partitions = 1, .config = {}}).ok());
  Append(topic, 0, 1);
  EXPECT_THAT(Values(Read(*consumer, 1)), testing::ElementsAre("0"));
}

TEST_P(LogConformance, UnknownPartitionIsNotFound) {
  const std::string topic = NewTopic("two-partitions", 2);
  auto producer = NewProducer();
  absl::Status appended = producer->Append(TestRecord(topic, "v", 2));
  if (appended.ok()) appended = producer->Flush(kPatience);
  EXPECT_EQ(appended.code(), absl::StatusCode::kNotFound) << appended;
}

TEST_P(LogConformance, TopicsAreCreatedOnceAndDescribed) {
  const std::string topic = NewTopic("described", 5);
  const auto spec = log().admin().DescribeTopic(topic);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, topic);
  EXPECT_EQ(spec->partitions, 5);
  EXPECT_EQ(log().admin().CreateTopic({.name = topic, .partitions = 5, .config = {}}).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(
      log().admin().CreateTopic({.name = Unique("none"), .partitions = 0, .config = {}}).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(log().admin().CreateTopic({.name = "", .partitions = 1, .config = {}}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(LogConformance, TopicConfigIsKept) {
  const std::string topic = Unique("configured");
  ASSERT_TRUE(
      log()
          .admin()
          .CreateTopic({.name = topic, .partitions = 1, .config = {{"retention.ms", "86400000"}}})
          .ok());
  const auto spec = log().admin().DescribeTopic(topic);
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_TRUE(spec->config.contains("retention.ms"));
  EXPECT_EQ(spec->config.at("retention.ms"), "86400000");
}

TEST_P(LogConformance, CallsInTheWrongOrderAreRefused) {
  const std::string topic = NewTopic("order", 1);
  auto consumer = log().NewConsumer({});
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  std::vector<ConsumerRecord> records;
  EXPECT_EQ((*consumer)->Poll(std::chrono::milliseconds(0), 1, &records).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ((*consumer)->Subscribe({}, nullptr).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE((*consumer)->Subscribe({topic}, nullptr).ok());
  EXPECT_EQ((*consumer)->Subscribe({topic}, nullptr).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(LogConformance, ManyThreadsAppendThroughOneProducer) {
  constexpr int kThreads = 4;
  constexpr int kRecords = 500;
  const std::string topic = NewTopic("threads", 2);
  auto producer = NewProducer();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kRecords; ++i) {
        const absl::Status status = producer->Append(
            TestRecord(topic, std::to_string(i), thread % 2, std::to_string(thread)));
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(producer->Flush(kPatience).ok());

  auto consumer = NewConsumer("", {topic});
  std::map<std::string, int> next;
  for (const ConsumerRecord& record : Read(*consumer, size_t{kThreads} * kRecords)) {
    EXPECT_EQ(record.value, std::to_string(next[record.key]++)) << "thread " << record.key;
  }
  EXPECT_EQ(next.size(), size_t{kThreads});
}

}  // namespace eroica

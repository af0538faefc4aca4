// What every Log must do, continued (log_conformance.h): partitions that are assigned by hand or
// paused, and transactions of those logs that have them.
#pragma once

#include <algorithm>

#include "stream_ops/log/log_conformance.h"

namespace eroica {

TEST_P(LogConformance, AssignedPartitionsAreReadFromTheirOffsets) {
  const std::string topic = NewTopic("assigned", 3);
  for (int32_t partition = 0; partition < 3; ++partition) Append(topic, partition, 4);
  auto consumer = log().NewConsumer({});
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  ASSERT_TRUE((*consumer)->Assign({{{topic, 1}, 2}}).ok());
  EXPECT_THAT(Values(Read(**consumer, 2)), testing::ElementsAre("2", "3"));
  ASSERT_TRUE((*consumer)->Assign({{{topic, 0}, 3}, {{topic, 2}, 1}}).ok());
  EXPECT_THAT(Values(Read(**consumer, 4)), testing::UnorderedElementsAre("3", "1", "2", "3"));
  EXPECT_THAT((*consumer)->Assignment(),
              testing::UnorderedElementsAre(TopicPartition{topic, 0}, TopicPartition{topic, 2}));
  ASSERT_TRUE((*consumer)->Assign({}).ok());
  ASSERT_TRUE((*consumer)->Assign({{{topic, 0}, 0}}).ok());
  EXPECT_THAT(Values(Read(**consumer, 4)), testing::ElementsAre("0", "1", "2", "3"));
}

TEST_P(LogConformance, UnknownPartitionsAreNotAssigned) {
  const std::string topic = NewTopic("assigned-unknown", 1);
  auto consumer = log().NewConsumer({});
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  EXPECT_EQ((*consumer)->Assign({{{Unique("nowhere"), 0}, 0}}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*consumer)->Assign({{{topic, 1}, 0}}).code(), absl::StatusCode::kNotFound);
}

TEST_P(LogConformance, PausedPartitionsAreNotRead) {
  const std::string topic = NewTopic("paused", 2);
  Append(topic, 0, 5);
  Append(topic, 1, 5);
  auto consumer = NewConsumer("", {topic});
  std::vector<ConsumerRecord> records = Read(*consumer, 3);
  ASSERT_TRUE(consumer->Pause({topic, 0}).ok());
  ASSERT_TRUE(consumer->Pause({topic, 0}).ok());
  Append(topic, 1, 3, 5);
  const size_t of_second = static_cast<size_t>(
      std::count_if(records.begin(), records.end(),
                    [](const ConsumerRecord& record) { return record.partition == 1; }));
  for (const ConsumerRecord& record : Read(*consumer, 8 - of_second)) {
    EXPECT_EQ(record.partition, 1);
  }
  ASSERT_TRUE(consumer->Resume({topic, 0}).ok());
  const size_t of_first = records.size() - of_second;
  std::vector<std::string> rest;
  for (size_t i = of_first; i < 5; ++i) rest.push_back(std::to_string(i));
  EXPECT_EQ(Values(Read(*consumer, 5 - of_first)), rest);
  EXPECT_EQ(consumer->Pause({topic, 7}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(consumer->Resume({topic, 7}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(LogConformance, APausedPartitionMayBeSoughtIn) {
  const std::string topic = NewTopic("paused-seek", 1);
  Append(topic, 0, 5);
  auto consumer = NewConsumer("", {topic});
  EXPECT_EQ(Read(*consumer, 2).size(), 2u);
  ASSERT_TRUE(consumer->Pause({topic, 0}).ok());
  ASSERT_TRUE(consumer->Seek({topic, 0}, 1).ok());
  ASSERT_TRUE(consumer->Resume({topic, 0}).ok());
  EXPECT_THAT(Values(Read(*consumer, 4)), testing::ElementsAre("1", "2", "3", "4"));
}

// Of logs that have transactions.
TEST_P(LogConformance, ATransactionIsSeenAtItsCommit) {
  const std::string topic = NewTopic("transaction", 2);
  auto producer = log().NewTransactionalProducer(Unique("writer"));
  if (absl::IsUnimplemented(producer.status())) GTEST_SKIP() << producer.status();
  ASSERT_TRUE(producer.ok()) << producer.status();
  auto reader = NewConsumer(Unique("group"), {topic});
  std::vector<ConsumerRecord> records;
  ASSERT_TRUE((*producer)->BeginTransaction().ok());
  ASSERT_TRUE((*producer)->Append(TestRecord(topic, "a", 0)).ok());
  ASSERT_TRUE((*producer)->Append(TestRecord(topic, "b", 1)).ok());
  ASSERT_TRUE((*producer)->Flush(kPatience).ok());
  ASSERT_TRUE(reader->Poll(std::chrono::milliseconds(200), 10, &records).ok());
  EXPECT_TRUE(records.empty());
  ASSERT_TRUE((*producer)->CommitTransaction({}, kPatience).ok());
  EXPECT_THAT(Values(Read(*reader, 2)), testing::UnorderedElementsAre("a", "b"));
}

TEST_P(LogConformance, ANewerProducerOfTheIdFencesTheOlderOff) {
  const std::string topic = NewTopic("fenced", 1);
  const std::string id = Unique("writer");
  auto older = log().NewTransactionalProducer(id);
  if (absl::IsUnimplemented(older.status())) GTEST_SKIP() << older.status();
  ASSERT_TRUE(older.ok()) << older.status();
  ASSERT_TRUE((*older)->BeginTransaction().ok());
  ASSERT_TRUE((*older)->Append(TestRecord(topic, "older", 0)).ok());
  (void)(*older)->Flush(kPatience);
  auto newer = log().NewTransactionalProducer(id);
  ASSERT_TRUE(newer.ok()) << newer.status();
  EXPECT_EQ((*older)->CommitTransaction({}, kPatience).code(), absl::StatusCode::kAborted);
  ASSERT_TRUE((*newer)->BeginTransaction().ok());
  ASSERT_TRUE((*newer)->Append(TestRecord(topic, "newer", 0)).ok());
  ASSERT_TRUE((*newer)->CommitTransaction({}, kPatience).ok());
  auto reader = NewConsumer("", {topic});
  EXPECT_THAT(Values(Read(*reader, 1)), testing::ElementsAre("newer"));
}

}  // namespace eroica

#include "stream_ops/log/memory_log.h"

#include <gtest/gtest.h>

#include <thread>

#include "stream_ops/log/log_control_conformance.h"

namespace eroica {
namespace {

class MemoryLogUnderTest final : public LogUnderTest {
 public:
  Log& log() override { return log_; }

 private:
  MemoryLog log_;
};

INSTANTIATE_TEST_SUITE_P(Memory, LogConformance,
                         testing::Values(LogFactory{
                             "Memory", [] { return std::make_unique<MemoryLogUnderTest>(); }, ""}));

TEST(MemoryLog, AppendWakesAWaitingConsumer) {
  MemoryLog log;
  ASSERT_TRUE(log.admin().CreateTopic({.name = "t", .partitions = 1, .config = {}}).ok());
  auto consumer = log.NewConsumer({});
  ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
  std::thread writer([&log] {
    auto producer = log.NewProducer();
    EXPECT_TRUE((*producer)->Append(TestRecord("t", "v")).ok());
  });
  // Would wait for ever, but for the writer.
  std::vector<ConsumerRecord> records;
  EXPECT_TRUE((*consumer)->Poll(std::chrono::milliseconds::max(), 1, &records).ok());
  EXPECT_EQ(records.size(), 1u);
  writer.join();
}

TEST(MemoryLog, AFullPartitionStarvesNoOther) {
  MemoryLog log;
  ASSERT_TRUE(log.admin().CreateTopic({.name = "t", .partitions = 3, .config = {}}).ok());
  auto producer = log.NewProducer();
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE((*producer)->Append(TestRecord("t", "v", i % 3)).ok());
  }
  auto consumer = log.NewConsumer({});
  ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
  std::vector<ConsumerRecord> records;
  for (int round = 0; round < 3; ++round)
    ASSERT_TRUE((*consumer)->Poll(std::chrono::milliseconds(0), 10, &records).ok());
  std::set<int32_t> seen;
  for (const ConsumerRecord& record : records) seen.insert(record.partition);
  EXPECT_EQ(seen.size(), 3u);
}

TEST(MemoryLog, AnEmptyTimestampStaysEmpty) {
  MemoryLog log;
  ASSERT_TRUE(log.admin().CreateTopic({.name = "t", .partitions = 1, .config = {}}).ok());
  ProducerRecord record = TestRecord("t", "v");
  record.timestamp_ms = 0;
  ASSERT_TRUE((*log.NewProducer())->Append(record).ok());
  auto consumer = log.NewConsumer({});
  ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
  std::vector<ConsumerRecord> records;
  ASSERT_TRUE((*consumer)->Poll(std::chrono::milliseconds(0), 1, &records).ok());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].timestamp_ms, 0);
}

}  // namespace
}  // namespace eroica

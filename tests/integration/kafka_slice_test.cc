// Slices of Kafka topics, and their reader, against a real broker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/kafka/kafka_partition_readers.h"
#include "stream_ops/log/slice_reader.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

class KafkaSliceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::string> broker = SharedBroker();
    if (!broker) GTEST_SKIP() << kNoBrokerMessage;
    options_.bootstrap_servers = *broker;
    auto log = KafkaLog::Open(options_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    ASSERT_TRUE(log_->admin().CreateTopic({.name = topic_, .partitions = 3, .config = {}}).ok());
  }

  // Records whose values are their times, in this partition.
  void Append(int32_t partition, int64_t first_ms, int count, size_t value_bytes = 0) {
    const auto producer = log_->NewProducer();
    ASSERT_TRUE(producer.ok()) << producer.status();
    for (int64_t time = first_ms; time < first_ms + count; ++time) {
      ProducerRecord record{.topic = topic_,
                            .key = "k",
                            .value = std::to_string(time),
                            .headers = {{"job", "night"}},
                            .timestamp_ms = time,
                            .partition = partition};
      record.value.resize(std::max(value_bytes, record.value.size()), ' ');
      absl::Status status = (*producer)->Append(record);
      if (absl::IsResourceExhausted(status)) {
        ASSERT_TRUE((*producer)->Flush(std::chrono::seconds(30)).ok());
        status = (*producer)->Append(record);
      }
      ASSERT_TRUE(status.ok()) << status;
    }
    const absl::Status flushed = (*producer)->Flush(std::chrono::seconds(60));
    ASSERT_TRUE(flushed.ok()) << flushed;
  }

  LogSlice Take(std::optional<int64_t> from_ms = {}, std::optional<int64_t> to_ms = {}) {
    const absl::StatusOr<LogSlice> slice =
        TakeSlice(*log_, {.topics = {topic_}, .from_ms = from_ms, .to_ms = to_ms});
    EXPECT_TRUE(slice.ok()) << slice.status();
    return slice.ok() ? *slice : LogSlice();
  }

  // The times of the records, in the order in which they were read.
  std::vector<int64_t> Read(SliceReader& reader, size_t records = 1'000'000) {
    std::vector<int64_t> times;
    while (times.size() < records) {
      const absl::StatusOr<const ConsumerRecord*> next = reader.Next();
      EXPECT_TRUE(next.ok()) << next.status();
      if (!next.ok() || *next == nullptr) break;
      const ConsumerRecord record = reader.Pop();
      EXPECT_EQ(record.value.substr(0, record.value.find(' ')),
                std::to_string(record.timestamp_ms));
      EXPECT_EQ(FindHeader(record.headers, "job"), "night");
      times.push_back(record.timestamp_ms);
    }
    return times;
  }

  std::unique_ptr<SliceReader> Open(const LogSlice& slice,
                                    const std::map<TopicPartition, int64_t>& positions = {}) {
    auto reader = SliceReader::Open(slice, positions, KafkaReaders(options_));
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  KafkaOptions options_;
  const std::string topic_ = UniqueName("slice");
  std::unique_ptr<KafkaLog> log_;
};

// A partition with a thousand times as many records as another waits for it.
TEST_F(KafkaSliceTest, IsReadInTheOrderOfTimesWhateverThePartitionsHold) {
  const int64_t begin = 1'700'000'000'000;
  Append(0, begin, 10'000, 1'000);
  Append(1, begin + 5'000, 10);
  const LogSlice slice = Take();
  Append(0, begin + 20'000, 100);
  Append(2, begin, 100);
  EXPECT_EQ(slice.size(), 10'010);
  const auto reader = Open(slice);
  const std::vector<int64_t> times = Read(*reader);
  EXPECT_EQ(times.size(), 10'010u);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_EQ(reader->done(), slice.size());
}

TEST_F(KafkaSliceTest, IsHalfOpenInTimeAndGoesOnWhereItWasLeft) {
  const int64_t begin = 1'700'000'000'000;
  for (int32_t partition = 0; partition < 3; ++partition) Append(partition, begin, 100);
  const LogSlice slice = Take(begin + 10, begin + 20);
  EXPECT_EQ(slice.size(), 30);
  const auto first = Open(slice);
  std::vector<int64_t> times = Read(*first, 17);
  const auto second = Open(slice, first->positions());
  for (const int64_t time : Read(*second)) times.push_back(time);
  ASSERT_EQ(times.size(), 30u);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_EQ(times.front(), begin + 10);
  EXPECT_EQ(times.back(), begin + 19);
}

TEST_F(KafkaSliceTest, OfNothingIsAtItsEnd) {
  EXPECT_TRUE(Read(*Open(Take())).empty());
  Append(0, 1'700'000'000'000, 5);
  EXPECT_EQ(Take(1'800'000'000'000, {}).size(), 0);
  EXPECT_EQ(Take({}, 1'600'000'000'000).size(), 0);
}

}  // namespace
}  // namespace eroica

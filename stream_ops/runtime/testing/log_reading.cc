#include "stream_ops/runtime/testing/log_reading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "stream_ops/log/log_end.h"

namespace eroica::testing {
namespace {

class FromTheBeginning : public RebalanceListener {
 public:
  std::optional<int64_t> OnPartitionAssigned(const TopicPartition&) override { return 0; }
  void OnPartitionRevoked(const TopicPartition&, bool) override {}
};

constexpr std::chrono::milliseconds kPollTimeout{20};
constexpr std::chrono::seconds kFlushTimeout{30};
constexpr size_t kPollRecords = 1024;

}  // namespace

void AppendAll(Log& log, std::vector<ProducerRecord> records) {
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = log.NewProducer();
  ASSERT_TRUE(producer.ok()) << producer.status();
  for (ProducerRecord& record : records) {
    const absl::Status status = (*producer)->Append(std::move(record));
    ASSERT_TRUE(status.ok()) << status;
  }
  const absl::Status flushed = (*producer)->Flush(kFlushTimeout);
  ASSERT_TRUE(flushed.ok()) << flushed;
}

std::vector<ConsumerRecord> ReadTopic(Log& log, const std::string& topic) {
  std::vector<ConsumerRecord> records;
  FromTheBeginning listener;
  absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer({});
  EXPECT_TRUE(consumer.ok()) << consumer.status();
  if (!consumer.ok()) return records;
  const absl::Status subscribed = (*consumer)->Subscribe({topic}, &listener);
  EXPECT_TRUE(subscribed.ok()) << subscribed;
  const auto deadline = std::chrono::steady_clock::now() + kFlushTimeout;
  do {
    const absl::Status status = (*consumer)->Poll(kPollTimeout, kPollRecords, &records);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok() || std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "topic " << topic << " could not be read to its end";
      break;
    }
  } while (!AtEnd(**consumer).value_or(false));
  std::stable_sort(records.begin(), records.end(),
                   [](const ConsumerRecord& a, const ConsumerRecord& b) {
                     return std::tie(a.partition, a.offset) < std::tie(b.partition, b.offset);
                   });
  return records;
}

std::vector<std::string> SortedValues(Log& log, const std::string& topic) {
  std::vector<std::string> values;
  for (ConsumerRecord& record : ReadTopic(log, topic)) values.push_back(std::move(record.value));
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<std::string> DistinctValues(Log& log, const std::string& topic) {
  std::vector<std::string> values = SortedValues(log, topic);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace eroica::testing

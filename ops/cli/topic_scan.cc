#include "ops/cli/topic_scan.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace eroica {

absl::StatusOr<std::unique_ptr<TopicScan>> TopicScan::Open(Log& log, const std::string& topic) {
  absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  if (absl::Status status = (*consumer)->Subscribe({topic}, nullptr); !status.ok()) return status;
  return std::unique_ptr<TopicScan>(new TopicScan(*std::move(consumer)));
}

absl::StatusOr<bool> TopicScan::Next(std::vector<ConsumerRecord>* records) {
  constexpr std::chrono::milliseconds kTimeout{100};
  constexpr size_t kRecordsMax = 256;
  records->clear();
  if (absl::Status status = consumer_->Poll(kTimeout, kRecordsMax, records); !status.ok())
    return status;
  if (ranges_.empty()) {
    if (absl::Status status = FindEnds(); !status.ok()) return status;
    for (const ConsumerRecord& record : *records) {
      Range& range = ranges_.at({record.topic, record.partition});
      range.begin = std::min(range.begin, record.offset);
    }
  }
  std::erase_if(*records, [this](const ConsumerRecord& record) {
    return record.offset >= ranges_.at({record.topic, record.partition}).end;
  });
  bool more = ranges_.empty();  // nothing is assigned yet
  for (auto& [partition, range] : ranges_) {
    const absl::StatusOr<int64_t> position = consumer_->Position(partition);
    if (!position.ok()) return position.status();
    range.position = *position;
    more = more || range.position < range.end;
  }
  return more || !records->empty();
}

absl::Status TopicScan::FindEnds() {
  for (const TopicPartition& partition : consumer_->Assignment()) {
    const absl::StatusOr<int64_t> position = consumer_->Position(partition);
    if (!position.ok()) return position.status();
    const absl::StatusOr<int64_t> end = consumer_->EndOffset(partition);
    if (!end.ok()) return end.status();
    ranges_[partition] = {.begin = std::min(*position, *end), .position = *position, .end = *end};
  }
  return absl::OkStatus();
}

uint64_t TopicScan::passed() const {
  int64_t passed = 0;
  for (const auto& [partition, range] : ranges_)
    passed += std::min(range.position, range.end) - range.begin;
  return static_cast<uint64_t>(passed);
}

uint64_t TopicScan::total() const {
  int64_t total = 0;
  for (const auto& [partition, range] : ranges_) total += range.end - range.begin;
  return static_cast<uint64_t>(total);
}

}  // namespace eroica

#include "stream_ops/log/all_partitions_consumer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace eroica {

absl::Status UnknownTopicError(std::string_view topic) {
  return absl::NotFoundError(
      fmt::format("topic {} does not exist: create it first (eroica topics create)", topic));
}

absl::Status UnknownPartitionError(const TopicPartition& partition) {
  return absl::NotFoundError(
      fmt::format("topic {} has no partition {}", partition.topic, partition.partition));
}

absl::Status UnassignedPartitionError(const TopicPartition& partition) {
  return absl::FailedPreconditionError(
      fmt::format("partition {}/{} is not assigned to this consumer: poll first", partition.topic,
                  partition.partition));
}

AllPartitionsConsumer::AllPartitionsConsumer(PartitionSource& source, std::string group)
    : source_(source), group_(std::move(group)) {}
AllPartitionsConsumer::~AllPartitionsConsumer() = default;

absl::Status AllPartitionsConsumer::Subscribe(std::vector<std::string> topics,
                                              RebalanceListener* listener) {
  if (!topics_.empty())
    return absl::FailedPreconditionError("this consumer has subscribed already: make another one");
  if (topics.empty()) return absl::InvalidArgumentError("no topics to subscribe to");
  topics_ = std::move(topics);
  listener_ = listener;
  return absl::OkStatus();
}

absl::Status AllPartitionsConsumer::Poll(std::chrono::milliseconds timeout, size_t max_records,
                                         std::vector<ConsumerRecord>* out) {
  if (topics_.empty() && !assigned_)
    return absl::FailedPreconditionError("subscribe before polling");
  const auto deadline = std::chrono::steady_clock::now() +
                        std::min<std::chrono::milliseconds>(timeout, std::chrono::hours(24));
  if (!assigned_) {
    if (absl::Status status = AssignSubscribed(); !status.ok()) return status;
  }
  const size_t before = out->size();
  while (true) {
    if (absl::Status status = Drain(max_records, out); !status.ok()) return status;
    if (out->size() > before || max_records == 0 || std::chrono::steady_clock::now() >= deadline)
      return absl::OkStatus();
    std::map<TopicPartition, int64_t> positions;
    for (const auto& [partition, reader] : readers_) {
      if (!paused_.contains(partition)) positions[partition] = reader->position();
    }
    source_.WaitForRecords(positions, deadline);
  }
}

// All partitions of all topics, or none where one topic is missing.
absl::Status AllPartitionsConsumer::AssignSubscribed() {
  std::map<TopicPartition, std::unique_ptr<PartitionReader>> readers;
  for (const std::string& topic : topics_) {
    const absl::StatusOr<int32_t> count = source_.PartitionCount(topic);
    if (!count.ok()) return count.status();
    for (int32_t index = 0; index < *count; ++index) {
      const TopicPartition partition{topic, index};
      auto reader = source_.OpenPartition(partition);
      if (!reader.ok()) return reader.status();
      if (!group_.empty()) {
        const auto committed = source_.Committed(group_, partition);
        if (!committed.ok()) return committed.status();
        if (*committed) (*reader)->Seek(**committed);
      }
      readers[partition] = *std::move(reader);
    }
  }
  readers_ = std::move(readers);
  assigned_ = true;
  if (listener_ == nullptr) return absl::OkStatus();
  for (auto& [partition, reader] : readers_) {
    if (const auto start = listener_->OnPartitionAssigned(partition)) reader->Seek(*start);
  }
  return absl::OkStatus();
}

// One round over the partitions, each time beginning with the next one, so that a full partition
// starves no other.
absl::Status AllPartitionsConsumer::Drain(size_t max_records, std::vector<ConsumerRecord>* out) {
  const size_t before = out->size();
  auto next = readers_.upper_bound(served_first_);
  for (size_t i = 0; i < readers_.size() && out->size() - before < max_records; ++i, ++next) {
    if (next == readers_.end()) next = readers_.begin();
    if (i == 0) served_first_ = next->first;
    if (paused_.contains(next->first)) continue;
    if (absl::Status status = next->second->Read(max_records - (out->size() - before), out);
        !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status AllPartitionsConsumer::Seek(const TopicPartition& partition, int64_t offset) {
  const auto found = readers_.find(partition);
  if (found == readers_.end()) return UnassignedPartitionError(partition);
  if (offset < 0) return absl::InvalidArgumentError(fmt::format("offset {} is negative", offset));
  found->second->Seek(offset);
  return absl::OkStatus();
}

absl::Status AllPartitionsConsumer::Assign(const std::map<TopicPartition, int64_t>& starts) {
  if (!topics_.empty())
    return absl::FailedPreconditionError("this consumer has subscribed already: make another one");
  std::map<TopicPartition, std::unique_ptr<PartitionReader>> readers;
  for (const auto& [partition, start] : starts) {
    auto reader = source_.OpenPartition(partition);
    if (!reader.ok()) return reader.status();
    (*reader)->Seek(start);
    readers[partition] = *std::move(reader);
  }
  readers_ = std::move(readers);
  paused_.clear();
  assigned_ = true;
  return absl::OkStatus();
}

absl::Status AllPartitionsConsumer::Pause(const TopicPartition& partition) {
  if (!readers_.contains(partition)) return UnassignedPartitionError(partition);
  paused_.insert(partition);
  return absl::OkStatus();
}

absl::Status AllPartitionsConsumer::Resume(const TopicPartition& partition) {
  if (!readers_.contains(partition)) return UnassignedPartitionError(partition);
  paused_.erase(partition);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> AllPartitionsConsumer::Position(const TopicPartition& partition) {
  const auto found = readers_.find(partition);
  if (found == readers_.end()) return UnassignedPartitionError(partition);
  return found->second->position();
}

absl::StatusOr<int64_t> AllPartitionsConsumer::EndOffset(const TopicPartition& partition) {
  const auto found = readers_.find(partition);
  if (found != readers_.end()) return found->second->EndOffset();
  auto reader = source_.OpenPartition(partition);
  if (!reader.ok()) return reader.status();
  return (*reader)->EndOffset();
}

absl::StatusOr<int64_t> AllPartitionsConsumer::OffsetForTime(const TopicPartition& partition,
                                                             int64_t timestamp_ms) {
  const auto found = readers_.find(partition);
  if (found != readers_.end()) return found->second->OffsetForTime(timestamp_ms);
  auto reader = source_.OpenPartition(partition);
  if (!reader.ok()) return reader.status();
  return (*reader)->OffsetForTime(timestamp_ms);
}

absl::Status AllPartitionsConsumer::Commit(const GroupOffsets& offsets) {
  if (group_.empty() || offsets.empty()) return absl::OkStatus();
  return source_.Commit(group_, offsets);
}

std::vector<TopicPartition> AllPartitionsConsumer::Assignment() const {
  std::vector<TopicPartition> partitions;
  for (const auto& [partition, reader] : readers_) partitions.push_back(partition);
  return partitions;
}

uint64_t AllPartitionsConsumer::corrupt_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [partition, reader] : readers_) bytes += reader->corrupt_bytes();
  return bytes;
}

std::vector<DamagedRange> AllPartitionsConsumer::TakeDamaged() {
  std::vector<DamagedRange> damaged;
  for (auto& [partition, reader] : readers_) {
    std::vector<DamagedRange> of_partition = reader->TakeDamaged();
    damaged.insert(damaged.end(), std::make_move_iterator(of_partition.begin()),
                   std::make_move_iterator(of_partition.end()));
  }
  return damaged;
}

ClientMeasures AllPartitionsConsumer::Measure() const {
  ClientMeasures measures;
  for (const auto& [partition, reader] : readers_) {
    const absl::StatusOr<int64_t> end = reader->EndOffset();
    if (!end.ok()) continue;
    const int64_t behind = std::max<int64_t>(0, *end - reader->position());
    measures.lag_records = measures.lag_records.value_or(0) + behind;
  }
  return measures;
}

}  // namespace eroica

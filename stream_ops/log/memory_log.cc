#include "stream_ops/log/memory_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "stream_ops/log/all_partitions_consumer.h"
#include "stream_ops/log/partitioner.h"

namespace eroica {

// Everything that the log's users share. One mutex: records are moved in and copied out under it.
class MemoryLog::Store final : public PartitionSource, public LogAdmin {
 public:
  absl::Status CreateTopic(const TopicSpec& spec) override {
    if (spec.name.empty() || spec.partitions < 1) {
      return absl::InvalidArgumentError(
          fmt::format("topic '{}' needs a name and at least one partition, not {}", spec.name,
                      spec.partitions));
    }
    const std::lock_guard lock(mutex_);
    Topic topic{.spec = spec,
                .partitions = std::vector<Records>(static_cast<size_t>(spec.partitions))};
    if (!topics_.try_emplace(spec.name, std::move(topic)).second) {
      return absl::AlreadyExistsError(fmt::format("topic {} exists already", spec.name));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<TopicSpec> DescribeTopic(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const auto found = topics_.find(name);
    if (found == topics_.end()) return UnknownTopicError(name);
    return found->second.spec;
  }

  absl::StatusOr<int32_t> PartitionCount(const std::string& topic) override {
    const absl::StatusOr<TopicSpec> spec = DescribeTopic(topic);
    if (!spec.ok()) return spec.status();
    return spec->partitions;
  }

  absl::StatusOr<std::unique_ptr<PartitionReader>> OpenPartition(
      const TopicPartition& partition) override;

  void WaitForRecords(const std::map<TopicPartition, int64_t>& positions,
                      std::chrono::steady_clock::time_point deadline) override {
    std::unique_lock lock(mutex_);
    appended_.wait_until(lock, deadline, [&] {
      return std::any_of(positions.begin(), positions.end(), [&](const auto& position) {
        const Records* records = Find(position.first);
        return records != nullptr && position.second < static_cast<int64_t>(records->size());
      });
    });
  }

  absl::StatusOr<std::optional<int64_t>> Committed(const std::string& group,
                                                   const TopicPartition& partition) override {
    const std::lock_guard lock(mutex_);
    const auto& offsets = committed_[group];
    const auto found = offsets.find(partition);
    return found == offsets.end() ? std::nullopt : std::optional(found->second);
  }

  absl::Status Commit(const std::string& group,
                      const std::map<TopicPartition, int64_t>& next_offsets) override {
    const std::lock_guard lock(mutex_);
    for (const auto& [partition, offset] : next_offsets) committed_[group][partition] = offset;
    return absl::OkStatus();
  }

  absl::Status Append(ProducerRecord record) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = topics_.find(record.topic);
      if (found == topics_.end()) return UnknownTopicError(record.topic);
      auto& partitions = found->second.partitions;
      const int32_t partition = record.partition.value_or(
          PartitionForKey(record.key, static_cast<int32_t>(partitions.size())));
      if (partition < 0 || static_cast<size_t>(partition) >= partitions.size())
        return UnknownPartitionError({record.topic, partition});
      Records& records = partitions[static_cast<size_t>(partition)];
      records.push_back({.topic = std::move(record.topic),
                         .partition = partition,
                         .offset = static_cast<int64_t>(records.size()),
                         .timestamp_ms = record.timestamp_ms,
                         .key = std::move(record.key),
                         .value = std::move(record.value),
                         .headers = std::move(record.headers)});
    }
    appended_.notify_all();
    return absl::OkStatus();
  }

  // Copies records of the partition from `offset` on, up to `max`, to *out. Returns how many.
  size_t Read(const TopicPartition& partition, int64_t offset, size_t max,
              std::vector<ConsumerRecord>* out) const {
    const std::lock_guard lock(mutex_);
    const Records& records = *Find(partition);
    if (offset >= static_cast<int64_t>(records.size())) return 0;
    const auto first = records.begin() + offset;
    const size_t count = std::min(max, static_cast<size_t>(records.end() - first));
    out->insert(out->end(), first, first + static_cast<ptrdiff_t>(count));
    return count;
  }

  int64_t EndOffset(const TopicPartition& partition) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(Find(partition)->size());
  }

  int64_t OffsetForTime(const TopicPartition& partition, int64_t timestamp_ms) const {
    const std::lock_guard lock(mutex_);
    const Records& records = *Find(partition);
    const auto reached = [&](const ConsumerRecord& record) {
      return record.timestamp_ms >= timestamp_ms;
    };
    return std::find_if(records.begin(), records.end(), reached) - records.begin();
  }

 private:
  using Records = std::deque<ConsumerRecord>;
  struct Topic {
    TopicSpec spec;
    std::vector<Records> partitions;
  };

  // mutex_ is held. nullptr: no such partition. Topics are never removed.
  const Records* Find(const TopicPartition& partition) const {
    const auto found = topics_.find(partition.topic);
    if (found == topics_.end() || partition.partition < 0) return nullptr;
    const auto index = static_cast<size_t>(partition.partition);
    return index < found->second.partitions.size() ? &found->second.partitions[index] : nullptr;
  }

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable appended_;
  std::map<std::string, Topic> topics_;
  std::map<std::string, std::map<TopicPartition, int64_t>> committed_;
};

class MemoryLog::Reader final : public PartitionReader {
 public:
  Reader(const Store& store, TopicPartition partition)
      : store_(store), partition_(std::move(partition)) {}

  absl::Status Read(size_t max_records, std::vector<ConsumerRecord>* out) override {
    position_ += static_cast<int64_t>(store_.Read(partition_, position_, max_records, out));
    return absl::OkStatus();
  }
  void Seek(int64_t offset) override { position_ = offset; }
  int64_t position() const override { return position_; }
  absl::StatusOr<int64_t> EndOffset() override { return store_.EndOffset(partition_); }
  absl::StatusOr<int64_t> OffsetForTime(int64_t timestamp_ms) override {
    return store_.OffsetForTime(partition_, timestamp_ms);
  }

 private:
  const Store& store_;
  const TopicPartition partition_;
  int64_t position_ = 0;
};

absl::StatusOr<std::unique_ptr<PartitionReader>> MemoryLog::Store::OpenPartition(
    const TopicPartition& partition) {
  const std::lock_guard lock(mutex_);
  if (Find(partition) == nullptr) return UnknownPartitionError(partition);
  return std::make_unique<Reader>(*this, partition);
}

class MemoryLog::Producer final : public LogProducer {
 public:
  explicit Producer(Store& store) : store_(store) {}
  absl::Status Append(ProducerRecord record) override { return store_.Append(std::move(record)); }
  absl::Status Flush(std::chrono::milliseconds) override { return absl::OkStatus(); }

 private:
  Store& store_;
};

MemoryLog::MemoryLog() : store_(std::make_unique<Store>()) {}
MemoryLog::~MemoryLog() = default;

absl::StatusOr<std::unique_ptr<LogConsumer>> MemoryLog::NewConsumer(
    const ConsumerOptions& options) {
  return std::make_unique<AllPartitionsConsumer>(*store_, options.group_id);
}

absl::StatusOr<std::unique_ptr<LogProducer>> MemoryLog::NewProducer() {
  return std::make_unique<Producer>(*store_);
}

LogAdmin& MemoryLog::admin() { return *store_; }

}  // namespace eroica

#include "stream_ops/log/memory_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "stream_ops/log/partitioner.h"

namespace eroica {

namespace {

absl::Status UnknownTopic(const std::string& topic) {
  return absl::NotFoundError(fmt::format("topic {} does not exist: create it first (LogAdmin::CreateTopic)", topic));
}

absl::Status UnknownPartition(const TopicPartition& partition) {
  return absl::NotFoundError(fmt::format("topic {} has no partition {}", partition.topic, partition.partition));
}

absl::Status NotAssigned(const TopicPartition& partition) {
  return absl::FailedPreconditionError(
      fmt::format("partition {}/{} is not assigned to this consumer: poll first", partition.topic, partition.partition));
}

}  // namespace

// Everything that the log's users share. One mutex: records are moved in and copied out under it.
class MemoryLog::Store {
 public:
  absl::Status CreateTopic(const TopicSpec& spec) {
    if (spec.name.empty() || spec.partitions < 1) {
      return absl::InvalidArgumentError(
          fmt::format("topic '{}' needs a name and at least one partition, not {}", spec.name, spec.partitions));
    }
    const std::lock_guard lock(mutex_);
    Topic topic{.spec = spec, .partitions = std::vector<std::deque<ConsumerRecord>>(static_cast<size_t>(spec.partitions))};
    if (!topics_.try_emplace(spec.name, std::move(topic)).second) {
      return absl::AlreadyExistsError(fmt::format("topic {} exists already", spec.name));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<TopicSpec> DescribeTopic(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = topics_.find(name);
    if (found == topics_.end()) return UnknownTopic(name);
    return found->second.spec;
  }

  absl::Status Append(ProducerRecord record) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = topics_.find(record.topic);
      if (found == topics_.end()) return UnknownTopic(record.topic);
      auto& partitions = found->second.partitions;
      const int32_t partition = record.partition.value_or(PartitionForKey(record.key, static_cast<int32_t>(partitions.size())));
      if (partition < 0 || static_cast<size_t>(partition) >= partitions.size()) return UnknownPartition({record.topic, partition});
      auto& records = partitions[static_cast<size_t>(partition)];
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
  size_t Read(const TopicPartition& partition, int64_t offset, size_t max, std::vector<ConsumerRecord>* out) {
    const std::lock_guard lock(mutex_);
    const auto* records = Find(partition);
    if (records == nullptr || offset >= static_cast<int64_t>(records->size())) return 0;
    const auto first = records->begin() + offset;
    const size_t count = std::min(max, static_cast<size_t>(records->end() - first));
    out->insert(out->end(), first, first + static_cast<ptrdiff_t>(count));
    return count;
  }

  // Waits until any of the positions has a record, or the deadline.
  void WaitForRecords(const std::map<TopicPartition, int64_t>& positions, std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    appended_.wait_until(lock, deadline, [&] {
      return std::any_of(positions.begin(), positions.end(), [&](const auto& position) {
        const auto* records = Find(position.first);
        return records != nullptr && position.second < static_cast<int64_t>(records->size());
      });
    });
  }

  absl::StatusOr<int64_t> EndOffset(const TopicPartition& partition) {
    const std::lock_guard lock(mutex_);
    const auto* records = Find(partition);
    if (records == nullptr) return UnknownPartition(partition);
    return static_cast<int64_t>(records->size());
  }

  absl::StatusOr<int64_t> OffsetForTime(const TopicPartition& partition, int64_t timestamp_ms) {
    const std::lock_guard lock(mutex_);
    const auto* records = Find(partition);
    if (records == nullptr) return UnknownPartition(partition);
    const auto found =
        std::find_if(records->begin(), records->end(), [&](const ConsumerRecord& record) { return record.timestamp_ms >= timestamp_ms; });
    return found - records->begin();
  }

  void Commit(const std::string& group, const std::map<TopicPartition, int64_t>& next_offsets) {
    const std::lock_guard lock(mutex_);
    for (const auto& [partition, offset] : next_offsets) committed_[group][partition] = offset;
  }

  std::optional<int64_t> Committed(const std::string& group, const TopicPartition& partition) {
    const std::lock_guard lock(mutex_);
    const auto found = committed_.find(group);
    if (found == committed_.end()) return std::nullopt;
    const auto offset = found->second.find(partition);
    if (offset == found->second.end()) return std::nullopt;
    return offset->second;
  }

 private:
  struct Topic {
    TopicSpec spec;
    std::vector<std::deque<ConsumerRecord>> partitions;
  };

  // mutex_ is held. nullptr: no such partition.
  const std::deque<ConsumerRecord>* Find(const TopicPartition& partition) const {
    const auto found = topics_.find(partition.topic);
    if (found == topics_.end() || partition.partition < 0) return nullptr;
    const auto index = static_cast<size_t>(partition.partition);
    return index < found->second.partitions.size() ? &found->second.partitions[index] : nullptr;
  }

  std::mutex mutex_;  // guards all below
  std::condition_variable appended_;
  std::map<std::string, Topic> topics_;
  std::map<std::string, std::map<TopicPartition, int64_t>> committed_;
};

class MemoryLog::Consumer final : public LogConsumer {
 public:
  Consumer(Store& store, std::string group) : store_(store), group_(std::move(group)) {}

  absl::Status Subscribe(std::vector<std::string> topics, RebalanceListener* listener) override {
    if (!topics_.empty()) return absl::FailedPreconditionError("this consumer has subscribed already: make another one");
    if (topics.empty()) return absl::InvalidArgumentError("no topics to subscribe to");
    topics_ = std::move(topics);
    listener_ = listener;
    return absl::OkStatus();
  }

  absl::Status Poll(std::chrono::milliseconds timeout, size_t max_records, std::vector<ConsumerRecord>* out) override {
    if (topics_.empty()) return absl::FailedPreconditionError("subscribe before polling");
    const auto deadline = std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(timeout, std::chrono::hours(24));
    if (positions_.empty()) {
      if (auto status = Assign(); !status.ok()) return status;
    }
    if (Drain(max_records, out) > 0 || max_records == 0) return absl::OkStatus();
    store_.WaitForRecords(positions_, deadline);
    Drain(max_records, out);
    return absl::OkStatus();
  }

  absl::Status Seek(const TopicPartition& partition, int64_t offset) override {
    const auto found = positions_.find(partition);
    if (found == positions_.end()) return NotAssigned(partition);
    if (offset < 0) return absl::InvalidArgumentError(fmt::format("offset {} is negative", offset));
    found->second = offset;
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Position(const TopicPartition& partition) override {
    const auto found = positions_.find(partition);
    if (found == positions_.end()) return NotAssigned(partition);
    return found->second;
  }

  absl::StatusOr<int64_t> EndOffset(const TopicPartition& partition) override { return store_.EndOffset(partition); }

  absl::StatusOr<int64_t> OffsetForTime(const TopicPartition& partition, int64_t timestamp_ms) override {
    return store_.OffsetForTime(partition, timestamp_ms);
  }

  absl::Status Commit(const std::map<TopicPartition, int64_t>& next_offsets) override {
    if (!group_.empty()) store_.Commit(group_, next_offsets);
    return absl::OkStatus();
  }

  std::vector<TopicPartition> Assignment() const override {
    std::vector<TopicPartition> partitions;
    for (const auto& [partition, position] : positions_) partitions.push_back(partition);
    return partitions;
  }

 private:
  // All partitions of all topics; the listener is asked without any lock held.
  absl::Status Assign() {
    std::vector<TopicPartition> assigned;
    for (const std::string& topic : topics_) {
      const auto spec = store_.DescribeTopic(topic);
      if (!spec.ok()) return spec.status();
      for (int32_t partition = 0; partition < spec->partitions; ++partition) assigned.push_back({topic, partition});
    }
    for (const TopicPartition& partition : assigned) {
      std::optional<int64_t> start;
      if (listener_ != nullptr) start = listener_->OnPartitionAssigned(partition);
      if (!start && !group_.empty()) start = store_.Committed(group_, partition);
      positions_[partition] = start.value_or(0);
    }
    return absl::OkStatus();
  }

  // One round over the partitions, each after the one that was served first last time, so that a full one starves no other.
  size_t Drain(size_t max_records, std::vector<ConsumerRecord>* out) {
    size_t total = 0;
    auto next = positions_.upper_bound(served_first_);
    for (size_t i = 0; i < positions_.size() && total < max_records; ++i, ++next) {
      if (next == positions_.end()) next = positions_.begin();
      if (i == 0) served_first_ = next->first;
      const size_t count = store_.Read(next->first, next->second, max_records - total, out);
      next->second += static_cast<int64_t>(count);
      total += count;
    }
    return total;
  }

  Store& store_;
  const std::string group_;
  std::vector<std::string> topics_;
  RebalanceListener* listener_ = nullptr;
  std::map<TopicPartition, int64_t> positions_;
  TopicPartition served_first_;
};

class MemoryLog::Producer final : public LogProducer {
 public:
  explicit Producer(Store& store) : store_(store) {}
  absl::Status Append(ProducerRecord record) override { return store_.Append(std::move(record)); }
  absl::Status Flush(std::chrono::milliseconds) override { return absl::OkStatus(); }

 private:
  Store& store_;
};

class MemoryLog::Admin final : public LogAdmin {
 public:
  explicit Admin(Store& store) : store_(store) {}
  absl::Status CreateTopic(const TopicSpec& spec) override { return store_.CreateTopic(spec); }
  absl::StatusOr<TopicSpec> DescribeTopic(const std::string& name) override { return store_.DescribeTopic(name); }

 private:
  Store& store_;
};

MemoryLog::MemoryLog() : store_(std::make_unique<Store>()), admin_(std::make_unique<Admin>(*store_)) {}
MemoryLog::~MemoryLog() = default;

absl::StatusOr<std::unique_ptr<LogConsumer>> MemoryLog::NewConsumer(const ConsumerOptions& options) {
  return std::make_unique<Consumer>(*store_, options.group_id);
}

absl::StatusOr<std::unique_ptr<LogProducer>> MemoryLog::NewProducer() { return std::make_unique<Producer>(*store_); }

LogAdmin& MemoryLog::admin() { return *admin_; }

}  // namespace eroica

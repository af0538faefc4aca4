#include "stream_ops/log/memory_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>

#include "schemas/mutex.h"
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
    const MutexLock lock(mutex_);
    Topic topic{.spec = spec,
                .partitions = std::vector<Records>(static_cast<size_t>(spec.partitions))};
    if (!topics_.try_emplace(spec.name, std::move(topic)).second) {
      return absl::AlreadyExistsError(fmt::format("topic {} exists already", spec.name));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<TopicSpec> DescribeTopic(const std::string& name) override {
    const MutexLock lock(mutex_);
    const auto found = topics_.find(name);
    if (found == topics_.end()) return UnknownTopicError(name);
    return found->second.spec;
  }

  absl::StatusOr<GroupOffsets> DescribeGroup(const std::string& group,
                                             const std::string& topic) override {
    const MutexLock lock(mutex_);
    GroupOffsets offsets = committed_[group];
    std::erase_if(offsets, [&](const auto& entry) { return entry.first.topic != topic; });
    return offsets;
  }

  absl::StatusOr<std::map<TopicPartition, int64_t>> EndOffsets(const std::string& topic) override {
    const absl::StatusOr<TopicSpec> spec = DescribeTopic(topic);
    if (!spec.ok()) return spec.status();
    std::map<TopicPartition, int64_t> ends;
    for (int32_t index = 0; index < spec->partitions; ++index)
      ends[{topic, index}] = EndOffset({topic, index});
    return ends;
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
    MutexLock lock(mutex_);
    appended_.wait_until(lock.native(), deadline, [&]() EROICA_REQUIRES(mutex_) {
      return std::any_of(
          positions.begin(), positions.end(), [&](const auto& position) EROICA_REQUIRES(mutex_) {
            const Records* records = Find(position.first);
            return records != nullptr && position.second < static_cast<int64_t>(records->size());
          });
    });
  }

  absl::StatusOr<std::optional<int64_t>> Committed(const std::string& group,
                                                   const TopicPartition& partition) override {
    const MutexLock lock(mutex_);
    const GroupOffsets& offsets = committed_[group];
    const auto found = offsets.find(partition);
    return found == offsets.end() ? std::nullopt : std::optional(found->second.next);
  }

  absl::Status Commit(const std::string& group, const GroupOffsets& offsets) override {
    const MutexLock lock(mutex_);
    Keep(group, offsets);
    return absl::OkStatus();
  }

  absl::Status Append(ProducerRecord record) {
    {
      const MutexLock lock(mutex_);
      const absl::StatusOr<Records*> records = PartitionOf(&record);
      if (!records.ok()) return records.status();
      Push(std::move(record), *records);
    }
    appended_.notify_all();
    return absl::OkStatus();
  }

  // The number of the newest producer of this id: the caller's.
  uint64_t BeginProducer(const std::string& transactional_id) {
    const MutexLock lock(mutex_);
    return ++producers_[transactional_id];
  }
  // Whether its partition exists; which one it is stands in the record then.
  absl::Status Check(ProducerRecord* record) {
    const MutexLock lock(mutex_);
    return PartitionOf(record).status();
  }
  // All or nothing. kAborted: a newer producer of this id is there.
  absl::Status AppendAll(const std::string& transactional_id, uint64_t producer,
                         std::vector<ProducerRecord> records,
                         const LogProducer::Consumed& consumed) {
    {
      const MutexLock lock(mutex_);
      if (producers_[transactional_id] != producer)
        return absl::AbortedError(fmt::format("a newer producer writes as {}", transactional_id));
      for (ProducerRecord& record : records) {
        Records* const partition = *PartitionOf(&record);  // checked when it was handed over
        Push(std::move(record), partition);
      }
      if (!consumed.group_metadata.empty()) Keep(consumed.group_metadata, consumed.offsets);
    }
    appended_.notify_all();
    return absl::OkStatus();
  }

  // Copies records of the partition from `offset` on, up to `max`, to *out. Returns how many.
  size_t Read(const TopicPartition& partition, int64_t offset, size_t max,
              std::vector<ConsumerRecord>* out) const {
    const MutexLock lock(mutex_);
    const Records& records = *Find(partition);
    if (offset >= static_cast<int64_t>(records.size())) return 0;
    const auto first = records.begin() + offset;
    const size_t count = std::min(max, static_cast<size_t>(records.end() - first));
    out->insert(out->end(), first, first + static_cast<ptrdiff_t>(count));
    return count;
  }

  int64_t EndOffset(const TopicPartition& partition) const {
    const MutexLock lock(mutex_);
    return static_cast<int64_t>(Find(partition)->size());
  }

  int64_t OffsetForTime(const TopicPartition& partition, int64_t timestamp_ms) const {
    const MutexLock lock(mutex_);
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

  // Topics are never removed.
  absl::StatusOr<Records*> PartitionOf(ProducerRecord* record) EROICA_REQUIRES(mutex_) {
    const auto found = topics_.find(record->topic);
    if (found == topics_.end()) return UnknownTopicError(record->topic);
    auto& partitions = found->second.partitions;
    if (!record->partition)
      record->partition = PartitionForKey(record->key, static_cast<int32_t>(partitions.size()));
    if (*record->partition < 0 || static_cast<size_t>(*record->partition) >= partitions.size())
      return UnknownPartitionError({record->topic, *record->partition});
    return &partitions[static_cast<size_t>(*record->partition)];
  }

  static void Push(ProducerRecord record, Records* partition) {
    partition->push_back({.topic = std::move(record.topic),
                          .partition = *record.partition,
                          .offset = static_cast<int64_t>(partition->size()),
                          .timestamp_ms = record.timestamp_ms,
                          .key = std::move(record.key),
                          .value = std::move(record.value),
                          .headers = std::move(record.headers)});
  }

  void Keep(const std::string& group, const GroupOffsets& offsets) EROICA_REQUIRES(mutex_) {
    for (const auto& [partition, offset] : offsets) committed_[group][partition] = offset;
  }

  // nullptr: no such partition.
  const Records* Find(const TopicPartition& partition) const EROICA_REQUIRES(mutex_) {
    const auto found = topics_.find(partition.topic);
    if (found == topics_.end() || partition.partition < 0) return nullptr;
    const auto index = static_cast<size_t>(partition.partition);
    return index < found->second.partitions.size() ? &found->second.partitions[index] : nullptr;
  }

  mutable Mutex mutex_;
  std::condition_variable appended_;
  std::map<std::string, Topic> topics_ EROICA_GUARDED_BY(mutex_);
  std::map<std::string, GroupOffsets> committed_ EROICA_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> producers_
      EROICA_GUARDED_BY(mutex_);  // by transactional id: the newest one's number
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
  const MutexLock lock(mutex_);
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

class MemoryLog::TransactionalProducer final : public LogProducer {
 public:
  TransactionalProducer(Store& store, std::string id)
      : store_(store), id_(std::move(id)), number_(store.BeginProducer(id_)) {}

  absl::Status BeginTransaction() override {
    if (open_) return absl::FailedPreconditionError("a transaction is open already");
    open_ = true;
    return absl::OkStatus();
  }
  absl::Status Append(ProducerRecord record) override {
    if (!open_) return absl::FailedPreconditionError("begin a transaction before appending");
    if (const absl::Status status = store_.Check(&record); !status.ok()) return status;
    records_.push_back(std::move(record));
    return absl::OkStatus();
  }
  absl::Status Flush(std::chrono::milliseconds) override { return absl::OkStatus(); }
  absl::Status CommitTransaction(const Consumed& consumed, std::chrono::milliseconds) override {
    if (!open_) return absl::FailedPreconditionError("no transaction is open");
    open_ = false;
    return store_.AppendAll(id_, number_, std::exchange(records_, {}), consumed);
  }

 private:
  Store& store_;
  const std::string id_;
  const uint64_t number_;
  bool open_ = false;
  std::vector<ProducerRecord> records_;  // of the open transaction
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

absl::StatusOr<std::unique_ptr<LogProducer>> MemoryLog::NewTransactionalProducer(
    const std::string& transactional_id) {
  return std::make_unique<TransactionalProducer>(*store_, transactional_id);
}

LogAdmin& MemoryLog::admin() { return *store_; }

}  // namespace eroica

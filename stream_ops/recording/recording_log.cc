#include "stream_ops/recording/recording_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <filesystem>
#include <list>
#include <optional>
#include <utility>

#include "schemas/codec.h"
#include "schemas/mutex.h"
#include "schemas/time_unit.h"
#include "stream_ops/log/all_partitions_consumer.h"
#include "stream_ops/log/partitioner.h"
#include "stream_ops/recording/cut_end.h"
#include "stream_ops/recording/entry.h"
#include "stream_ops/recording/file.h"
#include "stream_ops/recording/folder_watch.h"
#include "stream_ops/recording/partition_reader.h"
#include "stream_ops/recording/partition_writer.h"
#include "stream_ops/recording/recording_directory.h"
#include "stream_ops/recording/segment_deletion.h"

namespace eroica {
namespace {

// Nothing: for ever.
std::optional<std::chrono::milliseconds> RetentionOf(const TopicSpec& spec) {
  const auto setting = spec.config.find("retention.ms");
  if (setting == spec.config.end()) return std::nullopt;
  int64_t retention_ms = -1;
  const std::string& text = setting->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), retention_ms);
  if (error != std::errc() || end != text.data() + text.size() || retention_ms < 0)
    return std::nullopt;
  if (retention_ms > CodecLimits::kMaxTimeNs / kNsPerMs) return std::nullopt;  // for ever
  return std::chrono::milliseconds(retention_ms);
}

}  // namespace

// What the log's users share: the folder, and the writers of the partitions that this process has
// appended to.
class RecordingLog::Store final : public PartitionSource, public LogAdmin {
 public:
  explicit Store(const RecordingOptions& options)
      : options_(options), directory_(options.directory) {}

  const RecordingOptions& options() const { return options_; }

  absl::Status CreateTopic(const TopicSpec& spec) override {
    if (options_.read_only) return ReadOnlyError();
    return directory_.CreateTopic(spec);
  }
  absl::StatusOr<TopicSpec> DescribeTopic(const std::string& name) override {
    return directory_.DescribeTopic(name);
  }

  absl::StatusOr<int32_t> PartitionCount(const std::string& topic) override {
    const absl::StatusOr<TopicSpec> spec = directory_.DescribeTopic(topic);
    if (!spec.ok()) return spec.status();
    return spec->partitions;
  }

  absl::StatusOr<std::unique_ptr<PartitionReader>> OpenPartition(
      const TopicPartition& partition) override {
    const absl::StatusOr<int32_t> count = PartitionCount(partition.topic);
    if (!count.ok()) return count.status();
    if (partition.partition < 0 || partition.partition >= *count)
      return UnknownPartitionError(partition);
    return std::make_unique<RecordedPartitionReader>(
        directory_.PartitionPath(partition), partition, FolderOf(partition),
        [this, partition] { WatchAppends(partition); });
  }

  absl::StatusOr<std::vector<CutEnd>> CutEnds(const std::vector<std::string>& topics) {
    std::vector<CutEnd> ends;
    for (const std::string& topic : topics) {
      const absl::StatusOr<int32_t> count = PartitionCount(topic);
      if (absl::IsNotFound(count.status())) continue;
      if (!count.ok()) return count.status();
      for (int32_t index = 0; index < *count; ++index) {
        const TopicPartition partition{topic, index};
        absl::StatusOr<std::optional<CutEnd>> end =
            FindCutEnd(directory_.PartitionPath(partition), partition);
        if (!end.ok()) return end.status();
        if (*end) ends.push_back(**std::move(end));
      }
    }
    return ends;
  }

  // What this process appends wakes those who read the partition at once; for what others append
  // they look again after the interval, or when the folder's watch says so.
  void WaitForRecords(const std::map<TopicPartition, int64_t>& positions,
                      std::chrono::steady_clock::time_point deadline) override {
    Waiter waiter{.positions = positions};
    MutexLock lock(mutex_);
    const auto place = waiters_.insert(waiters_.end(), &waiter);
    waiter.appended.wait_until(
        lock.native(),
        std::min(deadline, std::chrono::steady_clock::now() + options_.tail_interval),
        [&waiter] { return waiter.woken; });
    waiters_.erase(place);
  }

  absl::StatusOr<std::optional<int64_t>> Committed(const std::string& group,
                                                   const TopicPartition& partition) override {
    return directory_.Committed(group, partition);
  }
  absl::Status Commit(const std::string& group, const GroupOffsets& offsets) override {
    return directory_.Commit(group, offsets);
  }

  absl::Status ReadOnlyError() const {
    return absl::FailedPreconditionError(
        fmt::format("{} was opened for reading only", options_.directory));
  }

  absl::Status Append(const ProducerRecord& record) {
    const absl::StatusOr<TopicPartition> partition = PartitionOf(record);
    if (!partition.ok()) return partition.status();
    const absl::StatusOr<PartitionWriter*> writer = WriterOf(*partition);
    if (!writer.ok()) return writer.status();
    if (absl::Status status = (*writer)->Append(record); !status.ok()) return status;
    Wake(*partition);
    return absl::OkStatus();
  }

  // The disk is not waited for under the lock of all.
  absl::Status Flush() {
    std::vector<PartitionWriter*> writers;
    {
      const MutexLock lock(mutex_);
      for (const auto& [partition, writer] : writers_) writers.push_back(writer.get());
    }
    for (PartitionWriter* writer : writers) {
      if (absl::Status status = writer->Flush(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status DeleteRecords(const TopicPartition& partition, int64_t before_offset) {
    if (options_.read_only) return ReadOnlyError();
    return DeleteSegmentsBelow(directory_.PartitionPath(partition), before_offset);
  }

  absl::Status Truncate(const TopicPartition& partition, int64_t end_offset) {
    if (options_.read_only) return ReadOnlyError();
    const MutexLock lock(mutex_);
    if (writers_.contains(partition)) {
      return absl::FailedPreconditionError(
          fmt::format("{}/{} is being written", partition.topic, partition.partition));
    }
    return TruncatePartition(directory_.PartitionPath(partition), end_offset);
  }

  absl::Status DeleteTopic(const std::string& name) override {
    if (options_.read_only) return ReadOnlyError();
    const MutexLock lock(mutex_);
    std::erase_if(writers_, [&](const auto& entry) { return entry.first.topic == name; });
    partition_counts_.erase(name);
    folders_.erase(name);
    return directory_.DeleteTopic(name);
  }

  uint64_t torn_bytes() const {
    const MutexLock lock(mutex_);
    uint64_t bytes = 0;
    for (const auto& [partition, writer] : writers_)
      bytes += static_cast<uint64_t>(writer->torn_bytes());
    return bytes;
  }

 private:
  // One for all readers of a topic.
  std::shared_ptr<TopicFolder> FolderOf(const TopicPartition& partition) {
    const MutexLock lock(mutex_);
    std::shared_ptr<TopicFolder>& folder = folders_[partition.topic];
    if (folder == nullptr) {
      const std::filesystem::path path = directory_.PartitionPath(partition);
      folder = std::make_shared<TopicFolder>(path.parent_path().string());
    }
    return folder;
  }

  // Of others: this process' own wake the readers as they are made.
  void WatchAppends(const TopicPartition& partition) {
    const MutexLock lock(mutex_);
    if (!options_.watch_appends || writers_.contains(partition)) return;
    if (!watch_.has_value()) {
      watch_ = FolderWatch::Start();
      if (!watch_->ok()) spdlog::debug("recording: {}", watch_->status().ToString());
    }
    if (watch_->ok())
      (**watch_)->Watch(directory_.PartitionPath(partition),
                        [this, partition] { Wake(partition); });
  }

  struct Waiter {
    const std::map<TopicPartition, int64_t>& positions;
    std::condition_variable appended{};
    bool woken = false;
  };

  void Wake(const TopicPartition& partition) {
    const MutexLock lock(mutex_);
    for (Waiter* waiter : waiters_) {
      if (!waiter->positions.contains(partition)) continue;
      waiter->woken = true;
      waiter->appended.notify_one();
    }
  }

  absl::StatusOr<TopicPartition> PartitionOf(const ProducerRecord& record) {
    const MutexLock lock(mutex_);
    auto known = partition_counts_.find(record.topic);
    if (known == partition_counts_.end()) {
      const absl::StatusOr<int32_t> count = PartitionCount(record.topic);
      if (!count.ok()) return count.status();
      known = partition_counts_.emplace(record.topic, *count).first;
    }
    const int32_t key_partition = PartitionForKey(record.key, known->second);
    const TopicPartition partition{record.topic, record.partition.value_or(key_partition)};
    if (partition.partition < 0 || partition.partition >= known->second)
      return UnknownPartitionError(partition);
    return partition;
  }

  // Opened at the first record for its partition, kept until the log is closed.
  absl::StatusOr<PartitionWriter*> WriterOf(const TopicPartition& partition) {
    const MutexLock lock(mutex_);
    auto found = writers_.find(partition);
    if (found == writers_.end()) {
      const absl::StatusOr<TopicSpec> spec = directory_.DescribeTopic(partition.topic);
      if (!spec.ok()) return spec.status();
      auto writer = PartitionWriter::Open(directory_.PartitionPath(partition),
                                          {.segment_bytes = options_.segment_bytes,
                                           .compress = options_.compress,
                                           .retention = RetentionOf(*spec),
                                           .sync = options_.sync});
      if (!writer.ok()) return writer.status();
      found = writers_.emplace(partition, *std::move(writer)).first;
    }
    return found->second.get();
  }

  const RecordingOptions options_;
  RecordingDirectory directory_;
  mutable Mutex mutex_;
  std::map<std::string, int32_t> partition_counts_ EROICA_GUARDED_BY(mutex_);
  std::map<TopicPartition, std::unique_ptr<PartitionWriter>> writers_ EROICA_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<TopicFolder>> folders_ EROICA_GUARDED_BY(mutex_);
  std::list<Waiter*> waiters_ EROICA_GUARDED_BY(mutex_);
  // Nothing before the first reader is at an end. Ends before all above: its thread uses them.
  std::optional<absl::StatusOr<std::unique_ptr<FolderWatch>>> watch_;
};

class RecordingLog::Producer final : public LogProducer {
 public:
  explicit Producer(Store& store) : store_(store) {}
  absl::Status Append(ProducerRecord record) override { return store_.Append(record); }
  size_t record_bytes_max() const override { return kMaxEntryBody; }
  // The disk decides how long it takes; the timeout cannot shorten that.
  absl::Status Flush(std::chrono::milliseconds) override { return store_.Flush(); }

 private:
  Store& store_;
};

RecordingLog::RecordingLog(std::unique_ptr<Store> store) : store_(std::move(store)) {}
RecordingLog::~RecordingLog() = default;

absl::StatusOr<std::unique_ptr<RecordingLog>> RecordingLog::Open(const RecordingOptions& options) {
  if (options.directory.empty()) return absl::InvalidArgumentError("a recording needs a folder");
  if (options.read_only) {
    if (absl::Status status = CheckDirectory(options.directory); !status.ok()) return status;
  } else if (absl::Status status = MakeDirectories(options.directory); !status.ok()) {
    return status;
  }
  return std::unique_ptr<RecordingLog>(new RecordingLog(std::make_unique<Store>(options)));
}

absl::StatusOr<std::unique_ptr<LogConsumer>> RecordingLog::NewConsumer(
    const ConsumerOptions& options) {
  return std::make_unique<AllPartitionsConsumer>(*store_, options.group_id);
}

absl::StatusOr<std::unique_ptr<LogProducer>> RecordingLog::NewProducer() {
  if (store_->options().read_only) return store_->ReadOnlyError();
  return std::make_unique<Producer>(*store_);
}

LogAdmin& RecordingLog::admin() { return *store_; }

absl::StatusOr<std::vector<CutEnd>> RecordingLog::CutEnds(const std::vector<std::string>& topics) {
  return store_->CutEnds(topics);
}

absl::StatusOr<std::unique_ptr<PartitionReader>> RecordingLog::OpenPartition(
    const TopicPartition& partition) {
  return store_->OpenPartition(partition);
}

absl::Status RecordingLog::DeleteRecords(const TopicPartition& partition, int64_t before_offset) {
  return store_->DeleteRecords(partition, before_offset);
}

absl::Status RecordingLog::Truncate(const TopicPartition& partition, int64_t end_offset) {
  return store_->Truncate(partition, end_offset);
}

absl::Status RecordingLog::DeleteTopic(const std::string& name) {
  return store_->DeleteTopic(name);
}

uint64_t RecordingLog::torn_bytes() const { return store_->torn_bytes(); }

}  // namespace eroica

// The consumer of a log that has no group protocol: every consumer is given all partitions of its
// topics, a group only keeps committed offsets. Two things vary, and stand behind interfaces here:
// how one partition is read, and what the log knows of topics and groups.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stream_ops/log/log.h"

namespace eroica {

absl::Status UnknownTopicError(std::string_view topic);
absl::Status UnknownPartitionError(const TopicPartition& partition);
absl::Status UnassignedPartitionError(const TopicPartition& partition);

// One partition, from a position on. One thread.
class PartitionReader {
 public:
  virtual ~PartitionReader() = default;
  // Appends up to max_records of what is there to *out; never waits.
  virtual absl::Status Read(size_t max_records, std::vector<ConsumerRecord>* out) = 0;
  virtual void Seek(int64_t offset) = 0;
  virtual int64_t position() const = 0;
  virtual absl::StatusOr<int64_t> EndOffset() = 0;
  virtual absl::StatusOr<int64_t> OffsetForTime(int64_t timestamp_ms) = 0;
  virtual uint64_t corrupt_bytes() const { return 0; }
  // LogConsumer::TakeDamaged.
  virtual std::vector<DamagedRange> TakeDamaged() { return {}; }
  // That were gone when the reader came to them: retention was faster.
  virtual int64_t missing_records() const { return 0; }
};

// What the consumers of one log share. Thread-safe; outlives them.
class PartitionSource {
 public:
  virtual ~PartitionSource() = default;
  // kNotFound: no such topic.
  virtual absl::StatusOr<int32_t> PartitionCount(const std::string& topic) = 0;
  // At offset 0. kNotFound: no such partition.
  virtual absl::StatusOr<std::unique_ptr<PartitionReader>> OpenPartition(
      const TopicPartition& partition) = 0;
  // Returns when any of these positions may have a record, and at the deadline.
  virtual void WaitForRecords(const std::map<TopicPartition, int64_t>& positions,
                              std::chrono::steady_clock::time_point deadline) = 0;
  virtual absl::StatusOr<std::optional<int64_t>> Committed(const std::string& group,
                                                           const TopicPartition& partition) = 0;
  virtual absl::Status Commit(const std::string& group, const GroupOffsets& offsets) = 0;
};

class AllPartitionsConsumer final : public LogConsumer {
 public:
  AllPartitionsConsumer(PartitionSource& source, std::string group);
  ~AllPartitionsConsumer() override;

  absl::Status Subscribe(std::vector<std::string> topics, RebalanceListener* listener) override;
  absl::Status Poll(std::chrono::milliseconds timeout, size_t max_records,
                    std::vector<ConsumerRecord>* out) override;
  absl::Status Assign(const std::map<TopicPartition, int64_t>& starts) override;
  absl::Status Seek(const TopicPartition& partition, int64_t offset) override;
  absl::Status Pause(const TopicPartition& partition) override;
  absl::Status Resume(const TopicPartition& partition) override;
  absl::StatusOr<int64_t> Position(const TopicPartition& partition) override;
  absl::StatusOr<int64_t> EndOffset(const TopicPartition& partition) override;
  absl::StatusOr<int64_t> OffsetForTime(const TopicPartition& partition,
                                        int64_t timestamp_ms) override;
  absl::Status Commit(const GroupOffsets& offsets) override;
  absl::StatusOr<std::string> GroupMetadata() override { return group_; }
  std::vector<TopicPartition> Assignment() const override;
  uint64_t corrupt_bytes() const override;
  std::vector<DamagedRange> TakeDamaged() override;
  ClientMeasures Measure() const override;

 private:
  absl::Status AssignSubscribed();
  absl::Status Drain(size_t max_records, std::vector<ConsumerRecord>* out);

  PartitionSource& source_;
  const std::string group_;
  std::vector<std::string> topics_;
  RebalanceListener* listener_ = nullptr;
  std::map<TopicPartition, std::unique_ptr<PartitionReader>> readers_;
  std::set<TopicPartition> paused_;
  bool assigned_ = false;  // by Assign, or at the first Poll
  TopicPartition served_first_;
};

}  // namespace eroica

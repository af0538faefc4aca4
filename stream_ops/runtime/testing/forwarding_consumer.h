// A consumer that hands each call on to another one. Consumers with faults of their own override
// those calls in which they fail.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stream_ops/log/log.h"

namespace eroica::testing {

class ForwardingConsumer : public LogConsumer {
 public:
  explicit ForwardingConsumer(std::unique_ptr<LogConsumer> inner) : inner_(std::move(inner)) {}

  absl::Status Subscribe(std::vector<std::string> topics, RebalanceListener* listener) override {
    return inner_->Subscribe(std::move(topics), listener);
  }
  absl::Status Assign(const std::map<TopicPartition, int64_t>& starts) override {
    return inner_->Assign(starts);
  }
  absl::Status Poll(std::chrono::milliseconds timeout, size_t max_records,
                    std::vector<ConsumerRecord>* out) override {
    return inner_->Poll(timeout, max_records, out);
  }
  absl::Status Seek(const TopicPartition& partition, int64_t offset) override {
    return inner_->Seek(partition, offset);
  }
  absl::Status Pause(const TopicPartition& partition) override { return inner_->Pause(partition); }
  absl::Status Resume(const TopicPartition& partition) override {
    return inner_->Resume(partition);
  }
  absl::StatusOr<int64_t> Position(const TopicPartition& partition) override {
    return inner_->Position(partition);
  }
  absl::StatusOr<int64_t> EndOffset(const TopicPartition& partition) override {
    return inner_->EndOffset(partition);
  }
  absl::StatusOr<int64_t> OffsetForTime(const TopicPartition& partition,
                                        int64_t timestamp_ms) override {
    return inner_->OffsetForTime(partition, timestamp_ms);
  }
  absl::Status CheckMembership() override { return inner_->CheckMembership(); }
  absl::StatusOr<std::string> GroupMetadata() override { return inner_->GroupMetadata(); }
  absl::Status Commit(const GroupOffsets& offsets) override { return inner_->Commit(offsets); }
  std::vector<TopicPartition> Assignment() const override { return inner_->Assignment(); }
  uint64_t corrupt_bytes() const override { return inner_->corrupt_bytes(); }
  std::vector<DamagedRange> TakeDamaged() override { return inner_->TakeDamaged(); }

 protected:
  LogConsumer& inner() { return *inner_; }

 private:
  std::unique_ptr<LogConsumer> inner_;
};

}  // namespace eroica::testing

#include "stream_ops/runtime/testing/faulty_log.h"

#include <algorithm>
#include <utility>

#include "stream_ops/runtime/testing/fault_count.h"
#include "stream_ops/runtime/testing/forwarding_consumer.h"

namespace eroica::testing {
class FaultyLog::Consumer final : public ForwardingConsumer {
 public:
  Consumer(FaultyLog& log, std::unique_ptr<LogConsumer> inner)
      : ForwardingConsumer(std::move(inner)),
        log_(log),
        is_silent_(TakeOne(&log.consumers_silent)) {}

  absl::Status Subscribe(std::vector<std::string> topics, RebalanceListener* listener) override {
    listener_ = listener;
    return ForwardingConsumer::Subscribe(std::move(topics), listener);
  }
  absl::Status Poll(std::chrono::milliseconds timeout, size_t max_records,
                    std::vector<ConsumerRecord>* out) override {
    ++log_.polls;
    if (TakeOne(&log_.polls_unavailable)) return absl::UnavailableError("broker away");
    if (!log_.poll_error.ok()) return log_.poll_error;
    if (listener_ != nullptr && !log_.at_next_poll.empty()) {
      const auto script = std::exchange(log_.at_next_poll, {});
      for (const auto& action : script) action(*listener_, out);
    }
    if (is_silent_) return absl::OkStatus();
    const absl::Status status = ForwardingConsumer::Poll(timeout, max_records, out);
    std::erase_if(*out, [this](const ConsumerRecord& record) {
      const auto range = std::find_if(log_.damaged.begin(), log_.damaged.end(), [&](const auto& r) {
        return r.partition == TopicPartition{record.topic, record.partition} &&
               record.offset >= r.begin && record.offset < r.end;
      });
      if (range == log_.damaged.end()) return false;
      if (record.offset == range->begin) met_.push_back(*range);
      return true;
    });
    return status;
  }
  std::vector<DamagedRange> TakeDamaged() override { return std::exchange(met_, {}); }
  absl::Status Seek(const TopicPartition& partition, int64_t offset) override {
    if (TakeOne(&log_.seeks_unavailable)) return absl::UnavailableError("broker away");
    return ForwardingConsumer::Seek(partition, offset);
  }
  absl::Status CheckMembership() override {
    return TakeOne(&log_.memberships_in_doubt)
               ? absl::UnavailableError("not polled for longer than a session")
               : absl::OkStatus();
  }

 private:
  FaultyLog& log_;
  const bool is_silent_;
  RebalanceListener* listener_ = nullptr;
  std::vector<DamagedRange> met_;  // not asked for yet
};

// Holds what was appended back until the flush, as a client's queue does.
class FaultyLog::Producer : public LogProducer {
 public:
  Producer(FaultyLog& log, std::unique_ptr<LogProducer> inner)
      : log_(log), inner_(std::move(inner)) {}

  absl::Status Append(ProducerRecord record) override {
    if (TakeOne(&log_.appends_refused)) return absl::ResourceExhaustedError("queue full");
    if (TakeOne(&log_.appends_lost)) {
      queue_.clear();
      return absl::UnavailableError("records are lost");
    }
    if (RecordBytes(record) > log_.record_bytes_max)
      return absl::InvalidArgumentError("the record is too large");
    queue_.push_back(std::move(record));
    return absl::OkStatus();
  }
  absl::Status Flush(std::chrono::milliseconds timeout) override {
    ++log_.flushes;
    if (TakeOne(&log_.flushes_timed_out)) return absl::DeadlineExceededError("still on its way");
    if (TakeOne(&log_.flushes_lost)) {
      queue_.clear();
      return absl::UnavailableError("messages timed out");
    }
    const uint64_t refused = std::erase_if(queue_, [this](const ProducerRecord& record) {
      return !log_.refused_at_flush.empty() &&
             record.value.find(log_.refused_at_flush) != std::string::npos;
    });
    if (refused > 0) {
      refused_[DropReason::kTimeOutOfRange] += refused;
      return absl::InvalidArgumentError("records are refused");
    }
    for (ProducerRecord& record : queue_) {
      if (absl::Status status = inner_->Append(std::move(record)); !status.ok()) return status;
    }
    queue_.clear();
    return inner_->Flush(timeout);
  }

  size_t record_bytes_max() const override {
    return log_.limit_known ? log_.record_bytes_max : std::numeric_limits<size_t>::max();
  }
  std::map<DropReason, uint64_t> TakeRefused() override { return std::exchange(refused_, {}); }

 private:
  FaultyLog& log_;
  std::unique_ptr<LogProducer> inner_;
  std::deque<ProducerRecord> queue_;
  std::map<DropReason, uint64_t> refused_;
};

absl::StatusOr<std::unique_ptr<LogConsumer>> FaultyLog::NewConsumer(
    const ConsumerOptions& options) {
  if (TakeOne(&consumers_unavailable)) return absl::UnavailableError("no broker");
  absl::StatusOr<std::unique_ptr<LogConsumer>> inner = inner_.NewConsumer(options);
  if (!inner.ok()) return inner.status();
  return std::make_unique<Consumer>(*this, *std::move(inner));
}

absl::StatusOr<std::unique_ptr<LogProducer>> FaultyLog::NewProducer() {
  absl::StatusOr<std::unique_ptr<LogProducer>> inner = inner_.NewProducer();
  if (!inner.ok()) return inner.status();
  return std::make_unique<Producer>(*this, *std::move(inner));
}

}  // namespace eroica::testing

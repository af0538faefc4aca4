// A Kafka producer. Included only by the .cc files of this folder.
//
// Idempotent, acks=all, lz4 unless the properties say otherwise. A record that the cluster did not
// take in the end (unknown topic, too large, timed out after message.timeout.ms) is told by the
// next Append or Flush of whichever thread comes first, with how many there were. Thread-safe.
//
// With a transactional id it writes in transactions: every error but a full queue or a record that
// is refused makes the open one void (kAborted).
//
// What a record takes is held against message.max.bytes. Where the topic takes less
// (max.message.bytes) it is the broker that refuses, a whole request at a time.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/mutex.h"
#include "stream_ops/kafka/kafka_client.h"
#include "stream_ops/log/log.h"

namespace eroica {

class KafkaProducer final : public LogProducer, private KafkaEvents {
 public:
  // transactional_id: empty for a producer without transactions.
  static absl::StatusOr<std::unique_ptr<KafkaProducer>> Make(const KafkaOptions& options,
                                                             const std::string& transactional_id);
  // What is not flushed is lost, and a log line says how much that is.
  ~KafkaProducer() override;

  // kUnavailable: no broker has answered since the producer was made. Later outages are ridden out
  // in the queue.
  absl::Status Append(ProducerRecord record) override;
  absl::Status Flush(std::chrono::milliseconds timeout) override;
  size_t record_bytes_max() const override { return record_bytes_max_; }
  std::map<DropReason, uint64_t> TakeRefused() override;
  ClientMeasures Measure() const override;
  absl::Status BeginTransaction() override;
  absl::Status CommitTransaction(const Consumed& consumed,
                                 std::chrono::milliseconds timeout) override;

 private:
  KafkaProducer(const KafkaOptions& options, std::string transactional_id)
      : KafkaEvents(options.bootstrap_servers), transactional_id_(std::move(transactional_id)) {}

  void OnDelivery(const rd_kafka_message_t& message) override;
  absl::Status TakeFailure();
  absl::Status Void(const absl::Status& status) const;
  absl::Status TransactionStatus(const rd_kafka_error_t* error, std::string_view doing) const;
  absl::Status InitTransactions(std::chrono::milliseconds timeout);
  absl::Status SendOffsets(const Consumed& consumed, std::chrono::milliseconds timeout);

  const std::string transactional_id_;
  bool in_transaction_ = false;
  bool offsets_sent_ = false;  // of the open transaction
  KafkaHandle handle_;
  size_t record_bytes_max_ = 0;
  std::atomic<bool> ever_delivered_{false};
  std::atomic<uint64_t> failed_{0};  // not told yet
  Mutex mutex_;
  absl::Status first_failure_ EROICA_GUARDED_BY(mutex_);  // refusals only where nothing else
  std::map<DropReason, uint64_t> refused_ EROICA_GUARDED_BY(mutex_);
};

}  // namespace eroica

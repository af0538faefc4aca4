// A Kafka producer. Included only by the .cc files of this folder.
//
// Idempotent, acks=all, lz4 unless the properties say otherwise. A record that the cluster did not
// take in the end (unknown topic, too large, timed out after message.timeout.ms) is told by the
// next Append or Flush of whichever thread comes first, with how many there were. Thread-safe.
//
// What a record takes is held against message.max.bytes. Where the topic takes less
// (max.message.bytes) it is the broker that refuses, a whole request at a time.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "stream_ops/kafka/kafka_client.h"
#include "stream_ops/log/log.h"

namespace eroica {

class KafkaProducer final : public LogProducer, private KafkaEvents {
 public:
  static absl::StatusOr<std::unique_ptr<KafkaProducer>> Make(const KafkaOptions& options);
  // What is not flushed is lost, and a log line says how much that is.
  ~KafkaProducer() override;

  // kUnavailable: no broker has answered since the producer was made. Later outages are ridden out
  // in the queue.
  absl::Status Append(ProducerRecord record) override;
  absl::Status Flush(std::chrono::milliseconds timeout) override;
  size_t record_bytes_max() const override { return record_bytes_max_; }
  std::map<DropReason, uint64_t> TakeRefused() override;

 private:
  explicit KafkaProducer(const KafkaOptions& options) : KafkaEvents(options.bootstrap_servers) {}

  void OnDelivery(const rd_kafka_message_t& message) override;
  absl::Status TakeFailure();

  KafkaHandle handle_;
  size_t record_bytes_max_ = 0;
  std::atomic<bool> ever_delivered_{false};
  std::atomic<uint64_t> failed_{0};  // not told yet
  std::mutex mutex_;
  absl::Status first_failure_;              // guarded by mutex_; refusals only where nothing else
  std::map<DropReason, uint64_t> refused_;  // guarded by mutex_
};

}  // namespace eroica

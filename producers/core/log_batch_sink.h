// Where importers and live producers write to: batches as records of the events topic. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "producers/core/batch_sink.h"
#include "schemas/codec.h"
#include "stream_ops/log/log.h"
#include "stream_ops/topics.h"

namespace eroica {

enum class QueueFull : uint8_t { kWait, kRefuse };

struct LogBatchSinkOptions {
  std::string topic_prefix = std::string(kDefaultTopicPrefix);
  std::string replay_id;  // not empty: in the headers of every record
  // The records' timestamp. Nothing: the time of the batch's first event, as a recording should
  // have it. Kafka counts its retention from the timestamp, so an import of last month's trace into
  // Kafka is stamped with the time of the import, or the broker would delete it at once.
  std::optional<int64_t> timestamp_ms;
  // Of the events topic; nothing: the key decides. A recording has one writing process a partition,
  // so that each rank of a live job writes one of its own.
  std::optional<int32_t> partition;
  // Where the producer's queue is full: an importer waits, a training process does not.
  QueueFull when_full = QueueFull::kWait;
};

inline constexpr std::chrono::seconds kSinkFlushTimeout{30};
// kRefuse: kResourceExhausted where the queue is full, and the record is not taken.
absl::Status AppendRecord(LogProducer& producer, const ProducerRecord& record, QueueFull when_full);

class LogBatchSink final : public BatchSink {
 public:
  // producer must outlive the sink.
  LogBatchSink(LogProducer* producer, LogBatchSinkOptions options);

  absl::Status Write(const EventBatch& batch) override;
  // Everything written is durable. Last.
  absl::Status Finish();

  uint64_t records() const { return records_; }
  uint64_t bytes() const { return bytes_; }

 private:
  LogProducer* const producer_;
  const LogBatchSinkOptions options_;
  const std::string topic_;
  Encoder encoder_;
  uint64_t records_ = 0;  // one a batch
  uint64_t bytes_ = 0;
};

}  // namespace eroica

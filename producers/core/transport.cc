#include "producers/core/transport.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "producers/core/control_topic.h"
#include "producers/core/edge_batch_sink.h"
#include "producers/core/log_batch_sink.h"
#include "schemas/codec.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

// Encodes, and throws away: what a batch costs without what carries it.
class NullTransport final : public Transport {
 public:
  absl::Status Write(const EventBatch& batch) override {
    Bytes payload;
    if (const DropReason broken = encoder_.TryEncode(batch, &payload); broken != DropReason::kNone)
      return absl::InvalidArgumentError(std::string(ToString(broken)));
    bytes_ += payload.size();
    return absl::OkStatus();
  }
  absl::Status Close(std::chrono::milliseconds) override { return absl::OkStatus(); }
  uint64_t bytes() const override { return bytes_; }
  std::vector<Control> ReadControls() override { return {}; }
  absl::Status RequestCapture(const Control&) override {
    return absl::UnavailableError("nobody is asked");
  }

 private:
  Encoder encoder_;
  uint64_t bytes_ = 0;
};

// Batches, or at level 1 what they are summarized to, as records of a log.
class LogTransport final : public Transport {
 public:
  LogTransport(std::unique_ptr<Log> log, std::unique_ptr<LogProducer> producer,
               LogBatchSinkOptions options, const ProducerConfig& config)
      : log_(std::move(log)),
        producer_(std::move(producer)),
        durable_at_once_(options.partition.has_value()),
        controls_(log_.get(), config) {
    if (config.level == 1) {
      edge_.emplace(producer_.get(), std::move(options), EdgeSummarizer::InProcess());
    } else {
      raw_.emplace(producer_.get(), std::move(options));
    }
  }

  absl::Status Write(const EventBatch& batch) override {
    return edge_ ? edge_->Write(batch) : raw_->Write(batch);
  }

  absl::Status Close(std::chrono::milliseconds timeout) override {
    if (edge_) {
      if (absl::Status status = edge_->CloseWindows(); !status.ok()) return status;
    }
    // What is appended to a recording outlives the process; the disk is not waited for.
    return durable_at_once_ ? absl::OkStatus() : producer_->Flush(timeout);
  }

  uint64_t bytes() const override { return edge_ ? edge_->bytes() : raw_->bytes(); }
  std::vector<Control> ReadControls() override { return controls_.Read(); }
  absl::Status RequestCapture(const Control& control) override {
    return controls_.Request(control);
  }

 private:
  const std::unique_ptr<Log> log_;
  const std::unique_ptr<LogProducer> producer_;
  const bool durable_at_once_;
  ControlTopic controls_;
  std::optional<LogBatchSink> raw_;
  std::optional<EdgeBatchSink> edge_;
};

absl::StatusOr<std::unique_ptr<Transport>> OpenRecording(const ProducerConfig& config,
                                                         uint32_t rank) {
  auto log = RecordingLog::Open({.directory = config.recording});
  if (!log.ok()) return log.status();
  const auto topic = (*log)->admin().DescribeTopic(TopicName(config.topic_prefix, Topic::kEvents));
  if (!topic.ok()) return topic.status();
  if (rank >= static_cast<uint32_t>(topic->partitions)) {
    return absl::OutOfRangeError(
        fmt::format("the recording {} has room for {} ranks and this is rank {}: start it with "
                    "`eroica run --ranks N`",
                    config.recording, topic->partitions, rank));
  }
  auto producer = (*log)->NewProducer();
  if (!producer.ok()) return producer.status();
  LogBatchSinkOptions options;
  options.topic_prefix = config.topic_prefix;
  options.partition = static_cast<int32_t>(rank);
  options.when_full = QueueFull::kRefuse;
  return std::make_unique<LogTransport>(*std::move(log), *std::move(producer), std::move(options),
                                        config);
}

absl::StatusOr<std::unique_ptr<Transport>> OpenKafka(const ProducerConfig& config) {
  KafkaOptions kafka{.bootstrap_servers = config.bootstrap, .properties = config.kafka_properties};
  // Bounds for a guest: 8 MiB of queue, and what is older than half a minute is not worth sending.
  kafka.properties.emplace("queue.buffering.max.kbytes", "8192");
  kafka.properties.emplace("message.timeout.ms", "30000");
  kafka.properties.emplace("linger.ms", "50");
  auto log = KafkaLog::Open(kafka);
  if (!log.ok()) return log.status();
  auto producer = (*log)->NewProducer();
  if (!producer.ok()) return producer.status();
  LogBatchSinkOptions options;
  options.topic_prefix = config.topic_prefix;
  options.when_full = QueueFull::kRefuse;
  return std::make_unique<LogTransport>(*std::move(log), *std::move(producer), std::move(options),
                                        config);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> OpenTransport(const ProducerConfig& config,
                                                         uint32_t rank) {
  if (config.null_transport) return std::make_unique<NullTransport>();
  return config.recording.empty() ? OpenKafka(config) : OpenRecording(config, rank);
}

}  // namespace eroica

#include "producers/core/edge_batch_sink.h"

#include <utility>

namespace eroica {

EdgeBatchSink::EdgeBatchSink(LogProducer* producer, LogBatchSinkOptions options,
                             const SummarizeOptions& summarize)
    : producer_(producer),
      options_(std::move(options)),
      summarizer_(summarize, [this](EdgeRecord record) { return Send(std::move(record)); }) {}

absl::Status EdgeBatchSink::Finish() {
  if (absl::Status status = CloseWindows(); !status.ok()) return status;
  return producer_->Flush(kSinkFlushTimeout);
}

absl::Status EdgeBatchSink::Send(EdgeRecord record) {
  // In a partition of its own the stage summarize finds what is summarized already, and forwards
  // it.
  const bool through_events = options_.partition.has_value();
  ProducerRecord out{
      .topic = TopicName(options_.topic_prefix, through_events ? Topic::kEvents : record.topic),
      .key = std::move(record.key),
      .value =
          std::string(reinterpret_cast<const char*>(record.payload.data()), record.payload.size()),
      .headers = {{std::string(kHeaderSchema), std::string(SchemaId(record.type))},
                  {std::string(kHeaderJob), record.job.value}},
      .timestamp_ms = options_.timestamp_ms.value_or(record.timestamp_ms),
      .partition = options_.partition};
  if (!options_.replay_id.empty()) out.headers.emplace_back(kHeaderReplay, options_.replay_id);
  ++records_;
  bytes_ += out.value.size();
  return AppendRecord(*producer_, out, options_.when_full);
}

}  // namespace eroica

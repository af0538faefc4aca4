#include "producers/core/log_batch_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace eroica {
namespace {

// A batch may hold nothing but one kind of event; one that holds none (losses alone, the last one)
// is as old as its clocks.
int64_t FirstTimeNs(const EventBatch& batch) {
  if (!batch.intervals.start_ns.empty()) return batch.intervals.start_ns.front();
  if (!batch.marks.empty()) return batch.marks.front().time_ns;
  if (!batch.samples.empty()) return batch.samples.front().time_ns;
  if (!batch.progress.empty()) return batch.progress.front().time_ns;
  if (!batch.connections.empty()) return batch.connections.front().time_ns;
  return batch.clock.realtime_ns;
}

}  // namespace

absl::Status AppendRecord(LogProducer& producer, const ProducerRecord& record,
                          QueueFull when_full) {
  absl::Status status = producer.Append(record);
  if (!absl::IsResourceExhausted(status) || when_full == QueueFull::kRefuse) return status;
  if (status = producer.Flush(kSinkFlushTimeout); !status.ok()) return status;
  return producer.Append(record);
}

LogBatchSink::LogBatchSink(LogProducer* producer, LogBatchSinkOptions options)
    : producer_(producer),
      options_(std::move(options)),
      topic_(TopicName(options_.topic_prefix, Topic::kEvents)) {}

absl::Status LogBatchSink::Write(const EventBatch& batch) {
  const ProducerIdentity& who = batch.identity;
  Bytes payload;
  if (const DropReason broken = encoder_.TryEncode(batch, &payload); broken != DropReason::kNone) {
    return absl::InternalError(fmt::format(
        "batch {} of rank {} breaks a rule of its schema ({}) and was not written; please report "
        "it with the input",
        batch.sequence, who.rank.value, ToString(broken)));
  }
  ProducerRecord record{
      .topic = topic_,
      .key = EventsKey(who.job, who.rank),
      .value = std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
      .headers = {{std::string(kHeaderSchema), std::string(SchemaId(PayloadType::kEventBatch))},
                  {std::string(kHeaderJob), who.job.value},
                  {std::string(kHeaderRank), std::to_string(who.rank.value)}},
      .timestamp_ms =
          options_.timestamp_ms.value_or(std::max<int64_t>(0, FirstTimeNs(batch) / 1'000'000)),
      .partition = options_.partition};
  if (!options_.replay_id.empty()) record.headers.emplace_back(kHeaderReplay, options_.replay_id);
  if (absl::Status status = AppendRecord(*producer_, record, options_.when_full); !status.ok())
    return status;
  ++records_;
  bytes_ += record.value.size();
  return absl::OkStatus();
}

absl::Status LogBatchSink::Finish() { return producer_->Flush(kSinkFlushTimeout); }

}  // namespace eroica

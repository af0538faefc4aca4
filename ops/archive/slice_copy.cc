#include "ops/archive/slice_copy.h"

#include <fmt/format.h>

#include <utility>

#include "producers/core/log_batch_sink.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

ProducerRecord AsProduced(ConsumerRecord record, std::string topic) {
  return {.topic = std::move(topic),
          .key = std::move(record.key),
          .value = std::move(record.value),
          .headers = std::move(record.headers),
          .timestamp_ms = record.timestamp_ms,
          .partition = record.partition};
}

}  // namespace

absl::Status CopySlice(SliceReader& slice, LogProducer& target, const SliceCopyOptions& options,
                       Contents* contents) {
  while (true) {
    const absl::StatusOr<const ConsumerRecord*> next = slice.Next();
    if (!next.ok()) return next.status();
    if (*next == nullptr) break;
    if (!options.progress(slice.done()))
      return absl::CancelledError("stopped before everything was copied");
    ConsumerRecord record = slice.Pop();
    if (!options.job.empty() && FindHeader(record.headers, kHeaderJob) != options.job) continue;
    contents->Add(record);
    const int64_t offset = record.offset;
    std::string topic = options.target_of(record.topic);
    const ProducerRecord produced = AsProduced(std::move(record), std::move(topic));
    if (absl::Status status = AppendRecord(target, produced, QueueFull::kWait); !status.ok()) {
      return absl::Status(status.code(), fmt::format("the record at offset {} for {}/{}: {}",
                                                     offset, produced.topic, *produced.partition,
                                                     std::string(status.message())));
    }
  }
  return target.Flush(kSinkFlushTimeout);
}

}  // namespace eroica

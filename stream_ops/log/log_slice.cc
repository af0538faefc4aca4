#include "stream_ops/log/log_slice.h"

#include <algorithm>
#include <limits>
#include <memory>


namespace eroica {
namespace {

absl::StatusOr<OffsetRange> TakeRange(LogConsumer& consumer, const TopicPartition& partition,
                                      const SliceRequest& request) {
  constexpr int64_t kBeginning = std::numeric_limits<int64_t>::min();
  const absl::StatusOr<int64_t> end = consumer.EndOffset(partition);
  if (!end.ok()) return end.status();
  OffsetRange range{.start = *end, .end = *end};
  if (request.to_ms) {
    const absl::StatusOr<int64_t> to = consumer.OffsetForTime(partition, *request.to_ms);
    if (!to.ok()) return to.status();
    range.end = std::min(range.end, *to);
  }
  const absl::StatusOr<int64_t> start =
      consumer.OffsetForTime(partition, request.from_ms.value_or(kBeginning));
  if (!start.ok()) return start.status();
  range.start = std::min(*start, range.end);
  return range;
}

}  // namespace

int64_t LogSlice::size() const {
  int64_t size = 0;
  for (const auto& [partition, range] : ranges) size += range.size();
  return size;
}

absl::StatusOr<LogSlice> TakeSlice(Log& log, const SliceRequest& request) {
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  LogSlice slice;
  absl::Status missing;  // the first topic that is
  for (const std::string& topic : request.topics) {
    const absl::StatusOr<TopicSpec> spec = log.admin().DescribeTopic(topic);
    if (absl::IsNotFound(spec.status())) {
      missing.Update(spec.status());
      continue;
    }
    if (!spec.ok()) return spec.status();
    for (int32_t index = 0; index < spec->partitions; ++index) {
      const TopicPartition partition{topic, index};
      const absl::StatusOr<OffsetRange> range = TakeRange(**consumer, partition, request);
      if (!range.ok()) return range.status();
      slice.ranges[partition] = *range;
    }
  }
  if (slice.ranges.empty() && !missing.ok()) return missing;
  return slice;
}

}  // namespace eroica

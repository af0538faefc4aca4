#include "stream_ops/runtime/upstream_progress.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr std::chrono::seconds kQueryInterval{1};
constexpr std::chrono::minutes kPatience{10};

}  // namespace

absl::StatusOr<bool> UpstreamProgress::CaughtUp(LogConsumer& reader,
                                                std::chrono::steady_clock::time_point now) {
  if (!behind_ || now - asked_at_ >= kQueryInterval) {
    uint64_t behind = 0;
    for (const Upstream& upstream : upstreams_) {
      const absl::StatusOr<uint64_t> records = RecordsBehind(upstream, reader);
      if (absl::IsUnimplemented(records.status())) continue;
      if (!records.ok()) return records.status();
      behind += *records;
    }
    if (behind != behind_) moved_at_ = now;
    behind_ = behind;
    asked_at_ = now;
  }
  return *behind_ == 0 || now - moved_at_ >= kPatience;
}

absl::StatusOr<uint64_t> UpstreamProgress::RecordsBehind(const Upstream& upstream,
                                                         LogConsumer& reader) {
  const absl::StatusOr<GroupOffsets> offsets =
      log_.admin().DescribeGroup(upstream.group_id, upstream.topic);
  if (!offsets.ok()) return offsets.status();
  const absl::StatusOr<TopicSpec> topic = log_.admin().DescribeTopic(upstream.topic);
  if (!topic.ok()) return topic.status();
  uint64_t behind = 0;
  for (int32_t partition = 0; partition < topic->partitions; ++partition) {
    const TopicPartition input{upstream.topic, partition};
    const absl::StatusOr<int64_t> end = reader.EndOffset(input);
    if (!end.ok()) return end.status();
    const auto found = offsets->find(input);
    const int64_t processed = found == offsets->end() ? 0 : found->second.processed;
    behind += static_cast<uint64_t>(std::max<int64_t>(*end - processed, 0));
  }
  return behind;
}

}  // namespace eroica

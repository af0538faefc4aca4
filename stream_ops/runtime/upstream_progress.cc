#include "stream_ops/runtime/upstream_progress.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr std::chrono::seconds kQueryInterval{1};
constexpr std::chrono::minutes kPatience{10};

}  // namespace

absl::StatusOr<bool> UpstreamProgress::CaughtUp(std::chrono::steady_clock::time_point now) {
  for (const Upstream& upstream : upstreams_) {
    if (upstream.progress != nullptr && !upstream.progress->caught_up()) return false;
  }
  if (!behind_ || now - asked_at_ >= kQueryInterval) {
    uint64_t behind = 0;
    for (const Upstream& upstream : upstreams_) {
      const absl::StatusOr<uint64_t> records = RecordsBehind(upstream);
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

absl::StatusOr<uint64_t> UpstreamProgress::RecordsBehind(const Upstream& upstream) {
  const absl::StatusOr<GroupOffsets> offsets =
      log_.admin().DescribeGroup(upstream.group_id, upstream.topic);
  if (!offsets.ok()) return offsets.status();
  const auto ends = log_.admin().EndOffsets(upstream.topic);
  if (!ends.ok()) return ends.status();
  uint64_t behind = 0;
  for (const auto& [partition, end] : *ends) {
    const auto found = offsets->find(partition);
    const int64_t processed = found == offsets->end() ? 0 : found->second.processed;
    behind += static_cast<uint64_t>(std::max<int64_t>(end - processed, 0));
  }
  return behind;
}

}  // namespace eroica

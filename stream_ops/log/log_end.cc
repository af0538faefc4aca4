#include "stream_ops/log/log_end.h"

#include <vector>

namespace eroica {

absl::StatusOr<bool> AtEnd(LogConsumer& consumer) {
  const std::vector<TopicPartition> partitions = consumer.Assignment();
  if (partitions.empty()) return false;
  for (const TopicPartition& partition : partitions) {
    const absl::StatusOr<int64_t> position = consumer.Position(partition);
    if (!position.ok()) return position.status();
    const absl::StatusOr<int64_t> end = consumer.EndOffset(partition);
    if (!end.ok()) return end.status();
    if (*position < *end) return false;
  }
  return true;
}

}  // namespace eroica

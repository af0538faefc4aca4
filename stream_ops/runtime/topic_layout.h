// The topics of an installation and how they are laid out: partitions, retention, compaction.
// `eroica topics create` and the embedded modes make them from here.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stream_ops/log/log.h"
#include "stream_ops/topics.h"

namespace eroica {

struct TopicLayout {
  // By Topic. Partitions are the most tasks that can share a stage, and stay for ever: three to ten
  // times the nodes that are expected. 0: no such topic is wanted.
  std::array<int32_t, kTopicCount> partitions{1, 1, 1, 1, 1, 1, 0};
  int16_t replication_factor = 1;
};

// Kafka's retention goes by the timestamps of records, so the broker stamps them as they arrive: an
// imported incident bears event times of long ago, and its records would be deleted within five
// minutes; those of a host whose clock runs an hour ahead would be refused (FACTS 18).
std::vector<TopicSpec> TopicSpecs(std::string_view prefix, const TopicLayout& layout);
// The changelogs of the stages (changelog.h), each with the partitions of the stage's input. Only
// nodes that share their work through Kafka need them.
std::vector<TopicSpec> ChangelogSpecs(std::string_view prefix, const TopicLayout& layout);
// Topics that are there already stay as they are.
absl::Status CreateMissing(LogAdmin& admin, const std::vector<TopicSpec>& specs);
// All but the changelogs.
absl::Status CreateMissingTopics(LogAdmin& admin, std::string_view prefix,
                                 const TopicLayout& layout);

}  // namespace eroica

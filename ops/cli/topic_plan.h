// The topics as the configuration wants them, and what an existing one lacks. `eroica topics
// create|check` acts on it.
#pragma once

#include <absl/status/status.h>

#include <string>
#include <vector>

#include "ops/config/node_config.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/topic_layout.h"

namespace eroica {

TopicLayout LayoutOf(const NodeConfig& config);
// One spec a topic, changelogs included where nodes share Kafka: partitions, retention, compaction,
// copies.
std::vector<TopicSpec> PlanTopics(const NodeConfig& config);

// In a recording, whose topics come into being with it. Those that are there stay as they are.
absl::Status CreatePlannedTopics(LogAdmin& admin, const NodeConfig& config);

// Sentences: how the topic that is there differs from the plan, and what to do. Empty: as planned.
// What the log does not know of a topic (a recording has no retention) is no difference.
std::vector<std::string> DifferencesFromPlan(const TopicSpec& planned, const TopicSpec& found);

// For Kafka: kFailedPrecondition, with what to do, where a topic of the stages is missing or has
// another number of partitions.
absl::Status RequirePlannedTopics(LogAdmin& admin, const NodeConfig& config);

}  // namespace eroica

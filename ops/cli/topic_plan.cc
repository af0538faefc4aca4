#include "ops/cli/topic_plan.h"

#include <fmt/format.h>

#include <utility>

#include "stream_ops/topics.h"

namespace eroica {

std::vector<TopicSpec> PlanTopics(const NodeConfig& config) {
  const NodeConfig::Topics& topics = config.topics;
  std::vector<TopicSpec> plan;
  const auto add = [&](Topic topic, int32_t partitions, std::map<std::string, std::string> topic_config) {
    topic_config["min.insync.replicas"] = std::to_string(topics.min_insync_replicas);
    plan.push_back({.name = TopicName(config.node.topic_prefix, topic),
                    .partitions = partitions,
                    .config = std::move(topic_config),
                    .replication_factor = static_cast<int16_t>(topics.replication)});
  };
  const auto kept = [](int64_t retention_ms) {
    return std::map<std::string, std::string>{{"cleanup.policy", "delete"}, {"retention.ms", std::to_string(retention_ms)}};
  };
  add(Topic::kEvents, topics.events_partitions, kept(topics.events_retention_ms));
  add(Topic::kCollectives, topics.collectives_partitions, kept(topics.events_retention_ms));
  add(Topic::kPatterns, topics.patterns_partitions, kept(topics.patterns_retention_ms));
  add(Topic::kFindings, topics.findings_partitions, kept(topics.findings_retention_ms));
  // Only the last word of each job counts.
  add(Topic::kControl, topics.control_partitions, {{"cleanup.policy", "compact"}});
  add(Topic::kDeadLetter, topics.deadletter_partitions, kept(topics.deadletter_retention_ms));
  return plan;
}

std::vector<std::string> DifferencesFromPlan(const TopicSpec& planned, const TopicSpec& found) {
  std::vector<std::string> differences;
  if (found.partitions != planned.partitions) {
    // More partitions would move keys to other tasks, away from the state that they have there.
    differences.push_back(
        fmt::format("{} has {} partitions, the configuration says {}: set topics.*_partitions to {}, or delete the topic and run "
                    "`eroica topics create`",
                    planned.name, found.partitions, planned.partitions, found.partitions));
  }
  if (found.replication_factor < planned.replication_factor) {
    differences.push_back(
        fmt::format("{} has {} copies, the configuration says {}: reassign its partitions, or set topics.replication to {}", planned.name,
                    found.replication_factor, planned.replication_factor, found.replication_factor));
  }
  for (const auto& [key, wanted] : planned.config) {
    const auto it = found.config.find(key);
    if (it == found.config.end() || it->second == wanted) continue;
    differences.push_back(
        fmt::format("{} has {}={}, the configuration says {}: alter the topic (kafka-configs --alter --entity-type topics --entity-name "
                    "{} --add-config {}={}) or the configuration",
                    planned.name, key, it->second, wanted, planned.name, key, wanted));
  }
  return differences;
}

absl::Status CreateMissingPlannedTopics(LogAdmin& admin, const NodeConfig& config) {
  for (const TopicSpec& planned : PlanTopics(config)) {
    const absl::Status status = admin.CreateTopic(planned);
    if (!status.ok() && !absl::IsAlreadyExists(status)) return status;
  }
  return absl::OkStatus();
}

absl::Status RequirePlannedTopics(LogAdmin& admin, const NodeConfig& config) {
  std::string problems;
  for (const TopicSpec& planned : PlanTopics(config)) {
    const absl::StatusOr<TopicSpec> found = admin.DescribeTopic(planned.name);
    if (absl::IsNotFound(found.status())) {
      problems += fmt::format("there is no topic {}: run `eroica topics create`\n", planned.name);
    } else if (!found.ok()) {
      return found.status();
    } else if (found->partitions != planned.partitions) {
      problems += DifferencesFromPlan(planned, *found).front() + "\n";
    }
  }
  return problems.empty() ? absl::OkStatus() : absl::FailedPreconditionError(problems);
}

}  // namespace eroica

#include "ops/cli/topic_plan.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

#include "ops/findings/audit_entry.h"
#include "ops/rest/node_directory.h"
#include "stream_ops/topics.h"

namespace eroica {

TopicLayout LayoutOf(const NodeConfig& config) {
  const NodeConfig::Topics& topics = config.topics;
  return {.partitions = {topics.events_partitions, topics.collectives_partitions,
                         topics.patterns_partitions, topics.findings_partitions,
                         topics.control_partitions, topics.deadletter_partitions,
                         config.findings.json_topic ? topics.findings_partitions : 0},
          .replication_factor = static_cast<int16_t>(topics.replication)};
}

std::vector<TopicSpec> PlanTopics(const NodeConfig& config) {
  const NodeConfig::Topics& topics = config.topics;
  // By Topic, of which only the last may be missing in the plan. Control is compacted and kept for
  // ever.
  const std::array<int64_t, kTopicCount> retention_ms = {topics.events_retention_ms,
                                                         topics.events_retention_ms,
                                                         topics.patterns_retention_ms,
                                                         topics.findings_retention_ms,
                                                         -1,
                                                         topics.deadletter_retention_ms,
                                                         topics.findings_retention_ms};
  std::vector<TopicSpec> plan = TopicSpecs(config.node.topic_prefix, LayoutOf(config));
  for (size_t i = 0; i < plan.size(); ++i) {
    plan[i].config["retention.ms"] = std::to_string(retention_ms[i]);
    plan[i].config.try_emplace("cleanup.policy", "delete");
  }
  plan.push_back({.name = AuditTopicName(config.node.topic_prefix),
                  .partitions = 1,
                  .config = {{"retention.ms", std::to_string(topics.audit_retention_ms)},
                             {"cleanup.policy", "delete"}},
                  .replication_factor = static_cast<int16_t>(topics.replication)});
  if (!config.kafka.bootstrap.empty()) {
    plan.push_back({.name = NodesTopicName(config.node.topic_prefix),
                    .partitions = 1,
                    .config = {{"cleanup.policy", "compact"}},
                    .replication_factor = static_cast<int16_t>(topics.replication)});
    for (TopicSpec& changelog : ChangelogSpecs(config.node.topic_prefix, LayoutOf(config)))
      plan.push_back(std::move(changelog));
  }
  for (TopicSpec& spec : plan)
    spec.config["min.insync.replicas"] = std::to_string(topics.min_insync_replicas);
  return plan;
}

absl::Status CreatePlannedTopics(LogAdmin& admin, const NodeConfig& config) {
  return CreateMissing(admin, PlanTopics(config));
}

std::vector<std::string> DifferencesFromPlan(const TopicSpec& planned, const TopicSpec& found) {
  std::vector<std::string> differences;
  if (found.partitions != planned.partitions) {
    // More partitions would move keys to other tasks, away from the state that they have there.
    differences.push_back(
        fmt::format("{} has {} partitions, the configuration says {}: set topics.*_partitions to "
                    "{}, or delete the topic and run "
                    "`eroica topics create`",
                    planned.name, found.partitions, planned.partitions, found.partitions));
  }
  if (found.replication_factor < planned.replication_factor) {
    differences.push_back(
        fmt::format("{} has {} copies, the configuration says {}: reassign its partitions, or set "
                    "topics.replication to {}",
                    planned.name, found.replication_factor, planned.replication_factor,
                    found.replication_factor));
  }
  for (const auto& [key, wanted] : planned.config) {
    const auto it = found.config.find(key);
    if (it == found.config.end() || it->second == wanted) continue;
    differences.push_back(
        fmt::format("{} has {}={}, the configuration says {}: alter the topic (kafka-configs "
                    "--alter --entity-type topics --entity-name "
                    "{} --add-config {}={}) or the configuration",
                    planned.name, key, it->second, wanted, planned.name, key, wanted));
  }
  return differences;
}

absl::Status RequirePlannedTopics(LogAdmin& admin, const NodeConfig& config) {
  // The stages do without: a node that is upgraded starts, and REST says what it lacks.
  const auto is_of_rest = [&](const std::string& name) {
    return name == AuditTopicName(config.node.topic_prefix) ||
           name == NodesTopicName(config.node.topic_prefix);
  };
  std::string problems;
  for (const TopicSpec& planned : PlanTopics(config)) {
    if (is_of_rest(planned.name)) continue;
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

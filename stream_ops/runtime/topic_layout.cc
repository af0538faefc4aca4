#include "stream_ops/runtime/topic_layout.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "stream_ops/runtime/changelog.h"
#include "stream_ops/runtime/topology.h"

namespace eroica {

std::vector<TopicSpec> TopicSpecs(std::string_view prefix, const TopicLayout& layout) {
  std::vector<TopicSpec> specs;
  for (int i = 0; i < kTopicCount; ++i) {
    const auto topic = static_cast<Topic>(i);
    if (layout.partitions[static_cast<size_t>(i)] == 0) continue;
    TopicSpec spec;
    spec.name = TopicName(prefix, topic);
    spec.partitions = layout.partitions[static_cast<size_t>(i)];
    spec.replication_factor = layout.replication_factor;
    spec.config["message.timestamp.type"] = "LogAppendTime";
    if (topic == Topic::kControl)
      spec.config["cleanup.policy"] = "compact";  // the last word per job counts
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<TopicSpec> ChangelogSpecs(std::string_view prefix, const TopicLayout& layout) {
  std::vector<TopicSpec> specs;
  for (const auto& [stage, input] : {std::pair{kSummarizeStage, Topic::kEvents},
                                     {kAlignStage, Topic::kCollectives},
                                     {kDiagnoseStage, Topic::kPatterns}}) {
    // Compacted, but for the last hour; in small segments, as the newest is never compacted.
    specs.push_back({.name = ChangelogTopic(prefix, stage),
                     .partitions = layout.partitions[static_cast<size_t>(input)],
                     .config = {{"cleanup.policy", "compact"},
                                {"min.compaction.lag.ms", "3600000"},
                                {"segment.bytes", "67108864"},
                                {"segment.ms", "3600000"},
                                {"message.timestamp.type", "LogAppendTime"}},
                     .replication_factor = layout.replication_factor});
  }
  return specs;
}

absl::Status CreateMissing(LogAdmin& admin, const std::vector<TopicSpec>& specs) {
  for (const TopicSpec& spec : specs) {
    const absl::Status status = admin.CreateTopic(spec);
    if (status.ok() || status.code() == absl::StatusCode::kAlreadyExists) continue;
    return absl::Status(status.code(),
                        fmt::format("topic {}: {}", spec.name, std::string(status.message())));
  }
  return absl::OkStatus();
}

absl::Status CreateMissingTopics(LogAdmin& admin, std::string_view prefix,
                                 const TopicLayout& layout) {
  return CreateMissing(admin, TopicSpecs(prefix, layout));
}

}  // namespace eroica

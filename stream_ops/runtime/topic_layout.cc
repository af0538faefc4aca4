#include "stream_ops/runtime/topic_layout.h"

#include <fmt/format.h>

#include <string>

namespace eroica {

std::vector<TopicSpec> TopicSpecs(std::string_view prefix, const TopicLayout& layout) {
  std::vector<TopicSpec> specs;
  for (int i = 0; i < kTopicCount; ++i) {
    const auto topic = static_cast<Topic>(i);
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

absl::Status CreateMissingTopics(LogAdmin& admin, std::string_view prefix,
                                 const TopicLayout& layout) {
  for (const TopicSpec& spec : TopicSpecs(prefix, layout)) {
    const absl::Status status = admin.CreateTopic(spec);
    if (status.ok() || status.code() == absl::StatusCode::kAlreadyExists) continue;
    return absl::Status(status.code(),
                        fmt::format("topic {}: {}", spec.name, std::string(status.message())));
  }
  return absl::OkStatus();
}

}  // namespace eroica

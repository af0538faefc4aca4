#include "ops/cli/output_log.h"

#include <fmt/format.h>

#include <utility>

#include "ops/cli/open_log.h"
#include "ops/cli/time_text.h"
#include "ops/cli/topic_plan.h"

namespace eroica {
namespace {

absl::StatusOr<int64_t> RecordsIn(Log& log, const TopicSpec& topic) {
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  int64_t records = 0;
  for (int32_t partition = 0; partition < topic.partitions; ++partition) {
    const absl::StatusOr<int64_t> end = (*consumer)->EndOffset({topic.name, partition});
    if (!end.ok()) return end.status();
    records += *end;
  }
  return records;
}

// Events, or at capture level 1 patterns.
absl::Status RequireEmpty(Log& log, const NodeConfig& config, Topic topic, std::string_view what) {
  const absl::StatusOr<TopicSpec> spec =
      log.admin().DescribeTopic(TopicName(config.node.topic_prefix, topic));
  if (!spec.ok()) return spec.status();
  const absl::StatusOr<int64_t> records = RecordsIn(log, *spec);
  if (!records.ok() || *records == 0) return records.status();
  return absl::AlreadyExistsError(fmt::format(
      "{} holds {} records of {} already: name another folder, or say --append to add to them",
      config.node.recording, *records, what));
}

absl::Status PrepareRecording(Log& log, const NodeConfig& config, bool append) {
  if (absl::Status status =
          CreateMissingTopics(log.admin(), config.node.topic_prefix, LayoutOf(config));
      !status.ok() || append)
    return status;
  if (absl::Status status = RequireEmpty(log, config, Topic::kEvents, "events"); !status.ok())
    return status;
  return RequireEmpty(log, config, Topic::kPatterns, "patterns");
}

}  // namespace

absl::StatusOr<OutputLog> OpenOutputLog(NodeConfig config, const std::string& folder, bool append) {
  if (!folder.empty()) {
    config.node.recording = folder;
    config.kafka.bootstrap.clear();
  }
  absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kWrite);
  if (!log.ok()) return log.status();
  OutputLog output{*std::move(log),
                   {.topic_prefix = config.node.topic_prefix,
                    .replay_id = config.node.replay_id,
                    .timestamp_ms = std::nullopt}};
  if (config.node.recording.empty()) {
    output.sink.timestamp_ms = NowMs();
  } else if (absl::Status status = PrepareRecording(*output.log, config, append); !status.ok()) {
    return status;
  }
  return output;
}

}  // namespace eroica

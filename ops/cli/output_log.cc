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
  const std::string interrupted = InterruptedWriting(config.node.recording);
  return absl::AlreadyExistsError(
      !interrupted.empty()
          ? interrupted
          : fmt::format("{} holds {} records of {} already: name another folder, or say --append "
                        "to add to them",
                        config.node.recording, *records, what));
}

// What a command that brings events or patterns writes to. The topics of a Kafka are for its
// operator to make.
absl::Status RequireInputTopics(LogAdmin& admin, const NodeConfig& config) {
  for (const Topic topic : {Topic::kEvents, Topic::kCollectives, Topic::kPatterns}) {
    const std::string name = TopicName(config.node.topic_prefix, topic);
    const absl::StatusOr<TopicSpec> found = admin.DescribeTopic(name);
    if (absl::IsNotFound(found.status()))
      return absl::FailedPreconditionError(
          fmt::format("there is no topic {}: run `eroica topics create --bootstrap {}`", name,
                      config.kafka.bootstrap));
    if (!found.ok()) return found.status();
  }
  return absl::OkStatus();
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

absl::Status OutputLog::Finish() { return mark ? mark->Remove() : absl::OkStatus(); }

absl::StatusOr<OutputLog> OpenOutputLog(NodeConfig config, const OutputOptions& options) {
  if (options.folder.empty() && config.node.recording.empty() && config.kafka.bootstrap.empty()) {
    return absl::InvalidArgumentError(
        "where to? Give -o DIR for a recording, or --bootstrap HOST:PORT for Kafka");
  }
  if (!options.folder.empty()) {
    config.node.recording = options.folder;
    config.kafka.bootstrap.clear();
  }
  absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kWrite);
  if (!log.ok()) return log.status();
  OutputLog output{.log = *std::move(log),
                   .sink = {.topic_prefix = config.node.topic_prefix,
                            .replay_id = config.node.replay_id,
                            .timestamp_ms = std::nullopt},
                   .mark = std::nullopt};
  if (config.node.recording.empty()) {
    output.sink.timestamp_ms = NowMs();
    if (absl::Status status = RequireInputTopics(output.log->admin(), config); !status.ok())
      return status;
    return output;
  }
  if (absl::Status status = PrepareRecording(*output.log, config, options.append); !status.ok())
    return status;
  absl::StatusOr<UnfinishedMark> mark = UnfinishedMark::Set(config.node.recording, options.command);
  if (!mark.ok()) return mark.status();
  output.mark.emplace(*std::move(mark));
  return output;
}

}  // namespace eroica

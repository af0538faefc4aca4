#include "ops/cli/log_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "ops/archive/manifest.h"
#include "ops/cli/open_log.h"
#include "ops/cli/time_text.h"
#include "ops/cli/unfinished_mark.h"
#include "ops/config/memory_shares.h"
#include "ops/config/secret.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/kafka/kafka_partition_readers.h"
#include "stream_ops/recording/recorded_slice.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

absl::StatusOr<LogSource> OpenRecordingSource(const NodeConfig& config) {
  const std::string& folder = config.node.recording;
  absl::StatusOr<std::unique_ptr<RecordingLog>> log =
      RecordingLog::Open({.directory = folder, .read_only = true});
  if (!log.ok()) return log.status();
  if (absl::Status status = RequireFinished(folder); !status.ok()) return status;
  if (std::string interrupted = InterruptedWriting(folder); !interrupted.empty())
    return absl::FailedPreconditionError(interrupted);
  const absl::StatusOr<std::optional<Manifest>> manifest = ReadManifest(folder);
  if (!manifest.ok()) return manifest.status();
  LogSource source;
  source.readers = ReadersOf(**log);
  source.log = *std::move(log);
  source.name =
      fmt::format("recording {}", std::filesystem::absolute(folder).lexically_normal().string());
  if (manifest->has_value() && (*manifest)->stamped_at_arrival) {
    const Manifest& copy = **manifest;
    source.stamped_until_ms = std::min(copy.created_ms, copy.to_ms.value_or(copy.created_ms));
  }
  return source;
}

absl::StatusOr<LogSource> OpenKafkaSource(const NodeConfig& config) {
  const KafkaOptions options{.bootstrap_servers = config.kafka.bootstrap,
                             .properties = KafkaPropertiesOf(config)};
  absl::StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(options);
  if (!log.ok()) return log.status();
  LogSource source;
  const auto memory = static_cast<size_t>(config.runtime.memory_mib) << 20;
  source.readers = KafkaReaders(options, std::min(kFetchedBytes, memory / 4));
  source.name = fmt::format("kafka {}", config.kafka.bootstrap);
  bool stamped_at_arrival = true;
  // Those that a node works on: where one is stamped by its producers, no time is one of arrival.
  for (const Topic topic : {Topic::kEvents, Topic::kCollectives, Topic::kPatterns}) {
    const absl::StatusOr<TopicSpec> spec =
        (*log)->admin().DescribeTopic(TopicName(config.node.topic_prefix, topic));
    if (absl::IsNotFound(spec.status())) continue;
    if (!spec.ok()) return spec.status();
    const auto type = spec->config.find("message.timestamp.type");
    stamped_at_arrival &= type != spec->config.end() && type->second == "LogAppendTime";
  }
  if (stamped_at_arrival) source.stamped_until_ms = NowMs();
  source.log = *std::move(log);
  return source;
}

}  // namespace

absl::StatusOr<LogSource> OpenLogSource(NodeConfig config) {
  if (config.node.recording.empty() == config.kafka.bootstrap.empty())
    return OpenLog(std::move(config), LogAccess::kRead).status();  // says what is missing
  if (!config.node.recording.empty()) return OpenRecordingSource(config);
  if (absl::Status status = ResolveSecrets(&config); !status.ok()) return status;
  return OpenKafkaSource(config);
}

}  // namespace eroica

#include "ops/cli/open_log.h"

#include <fmt/format.h>

#include <utility>

#include "ops/config/memory_shares.h"
#include "ops/config/secret.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {

absl::StatusOr<std::unique_ptr<Log>> OpenLog(NodeConfig config, LogAccess access) {
  const bool recording = !config.node.recording.empty();
  const bool kafka = !config.kafka.bootstrap.empty();
  if (recording == kafka) {
    return absl::InvalidArgumentError(
        recording ? "node.recording and kafka.bootstrap are both set: give one of them"
                  : "which log? Give --recording DIR or --bootstrap HOST:PORT (or node.recording, "
                    "kafka.bootstrap in the file)");
  }
  if (recording)
    return RecordingLog::Open(
        {.directory = config.node.recording, .read_only = access == LogAccess::kRead});
  if (absl::Status status = ResolveSecrets(&config); !status.ok()) return status;
  return KafkaLog::Open(
      {.bootstrap_servers = config.kafka.bootstrap, .properties = KafkaPropertiesOf(config)});
}

}  // namespace eroica

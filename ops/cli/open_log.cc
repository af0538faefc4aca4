#include "ops/cli/open_log.h"

#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "ops/cli/unfinished_mark.h"
#include "ops/config/memory_shares.h"
#include "ops/config/secret.h"
#include "schemas/file_access.h"
#include "schemas/printable_text.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {

absl::StatusOr<std::unique_ptr<Log>> OpenLog(NodeConfig config, LogAccess access) {
  const bool recording = !config.node.recording.empty();
  const bool kafka = !config.kafka.bootstrap.empty();
  if (recording == kafka) {
    return absl::InvalidArgumentError(
        recording
            ? "both a recording and Kafka are named (node.recording and kafka.bootstrap in the "
              "configuration): name one of them"
            : "a recording or a Kafka must be named: --recording DIR or --bootstrap HOST:PORT "
              "(or EROICA_BOOTSTRAP, or node.recording or kafka.bootstrap in a "
              "configuration file)");
  }
  if (recording) {
    if (access == LogAccess::kWrite && OthersMayRead(config.node.recording))
      std::cerr << fmt::format(
          "eroica: warning: others may read the folder {}; what is made in it from now on is yours "
          "alone: chmod 700 it, or chmod 2770 to share it with its group\n",
          Printable(config.node.recording));
    const std::string interrupted = InterruptedWriting(config.node.recording);
    if (!interrupted.empty())
      std::cerr << fmt::format("eroica: warning: {}\n", Printable(interrupted));
    return RecordingLog::Open({.directory = config.node.recording,
                               .read_only = access == LogAccess::kRead,
                               .watch_appends = true});
  }
  if (absl::Status status = ResolveSecrets(&config); !status.ok()) return status;
  return KafkaLog::Open(
      {.bootstrap_servers = config.kafka.bootstrap, .properties = KafkaPropertiesOf(config)});
}

}  // namespace eroica

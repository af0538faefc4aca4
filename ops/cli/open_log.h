// The log that a configuration means: the Kafka of kafka.bootstrap, or the recording of
// node.recording.
#pragma once

#include <absl/status/statusor.h>

#include <memory>

#include "ops/config/node_config.h"
#include "stream_ops/log/log.h"

namespace eroica {

// kRead: a recording must be there already and is left as it is.
enum class LogAccess { kRead, kWrite };

// kInvalidArgument where the configuration names no log or both, kNotFound for a recording that is
// not there. Reads the secrets of the configuration.
absl::StatusOr<std::unique_ptr<Log>> OpenLog(NodeConfig config, LogAccess access);

}  // namespace eroica

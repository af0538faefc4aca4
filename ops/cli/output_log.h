// The log that a command writes events to: a recording, whose topics come into being with it, or a
// Kafka, whose topics are for its operator to make.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "ops/config/node_config.h"
#include "producers/core/log_batch_sink.h"
#include "stream_ops/log/log.h"

namespace eroica {

struct OutputLog {
  std::unique_ptr<Log> log;
  LogBatchSinkOptions sink;  // what its records bear
};

// folder: of a recording, in place of what the configuration says; empty: as the configuration
// says. append: the recording may hold records already, else kAlreadyExists.
absl::StatusOr<OutputLog> OpenOutputLog(NodeConfig config, const std::string& folder, bool append);

}  // namespace eroica

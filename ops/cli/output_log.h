// The log that a command writes events to: a recording, whose topics come into being with it, or a
// Kafka, whose topics are for its operator to make.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>

#include "ops/cli/unfinished_mark.h"
#include "ops/config/node_config.h"
#include "producers/core/log_batch_sink.h"
#include "stream_ops/log/log.h"

namespace eroica {

struct OutputLog {
  std::unique_ptr<Log> log;
  LogBatchSinkOptions sink;            // what its records bear
  std::optional<UnfinishedMark> mark;  // of a recording

  // Once everything is written and flushed: without it a recording is one that was interrupted.
  absl::Status Finish();
};

struct OutputOptions {
  std::string command;  // that writes, for messages
  // Of a recording, in place of what the configuration says; empty: as the configuration says.
  std::string folder;
  bool append = false;  // the recording may hold records already, else kAlreadyExists
};

// kFailedPrecondition where a topic is missing on Kafka.
absl::StatusOr<OutputLog> OpenOutputLog(NodeConfig config, const OutputOptions& options);

}  // namespace eroica

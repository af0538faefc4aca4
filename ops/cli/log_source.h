// The log that `eroica record` and `eroica replay` read from: a Kafka or a recording, which is left
// as it is.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ops/config/node_config.h"
#include "stream_ops/log/slice_reader.h"

namespace eroica {

struct LogSource {
  std::unique_ptr<Log> log;
  OpenReaders readers;  // of its partitions
  std::string name;     // "kafka HOST:PORT" or "recording DIR"
  // Its records are stamped with the time at which a broker got them: until when it holds them.
  // Nothing: they are stamped with event times.
  std::optional<int64_t> stamped_until_ms;
};

// As OpenLog. kFailedPrecondition for a recording that is an unfinished copy.
absl::StatusOr<LogSource> OpenLogSource(NodeConfig config);

}  // namespace eroica

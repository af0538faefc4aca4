// Whether a consumer has read all that there is.
#pragma once

#include <absl/status/statusor.h>

#include "stream_ops/log/log.h"

namespace eroica {

// All that its partitions hold now; false before its first Poll.
absl::StatusOr<bool> AtEnd(LogConsumer& consumer);

}  // namespace eroica

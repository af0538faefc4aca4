// Where a producer's or importer's batches go: a transport, a recording, a test's vector.
#pragma once

#include <absl/status/status.h>

#include "schemas/event_batch.h"

namespace eroica {

class BatchSink {
 public:
  virtual ~BatchSink() = default;
  // The batch may be reused by the caller afterwards. An error ends the import.
  virtual absl::Status Write(const EventBatch& batch) = 0;
};

}  // namespace eroica

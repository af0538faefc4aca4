// Where a training process sends its batches: a recording that the ranks of a host share, Kafka, or
// nowhere. What does not fit into the transport's queue is refused, never waited for.
// Owner: the emitter's thread, which opens it too: a transport's own threads then take no signal.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "producers/core/batch_sink.h"
#include "producers/core/producer_config.h"
#include "schemas/control.h"

namespace eroica {

class Transport : public BatchSink {
 public:
  // Waits until what was written has arrived, and says what has not.
  virtual absl::Status Close(std::chrono::milliseconds timeout) = 0;
  virtual uint64_t bytes() const = 0;
  // What was asked of the job's producers since the last call, of any job; never waits.
  virtual std::vector<Control> ReadControls() = 0;
  // Asks all ranks of the job for a capture window. kFailedPrecondition: somebody else is just
  // asking.
  virtual absl::Status RequestCapture(const Control& control) = 0;
};

absl::StatusOr<std::unique_ptr<Transport>> OpenTransport(const ProducerConfig& config,
                                                         uint32_t rank);

}  // namespace eroica

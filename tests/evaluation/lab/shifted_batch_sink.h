// Moves all times of the batches by a constant on their way to another sink: a simulated job
// happens when its epoch says, a live demonstration now. One thread.
#pragma once

#include <cstdint>

#include "producers/core/batch_sink.h"

namespace eroica {

class ShiftedBatchSink final : public BatchSink {
 public:
  // sink must outlive this. No moment may come to lie before 1970.
  ShiftedBatchSink(BatchSink& sink, int64_t shift_ns) : sink_(sink), shift_ns_(shift_ns) {}

  absl::Status Write(const EventBatch& batch) override;

 private:
  BatchSink& sink_;
  const int64_t shift_ns_;
  EventBatch batch_;
};

}  // namespace eroica

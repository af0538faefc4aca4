#include "tests/evaluation/lab/shifted_batch_sink.h"

namespace eroica {

absl::Status ShiftedBatchSink::Write(const EventBatch& batch) {
  batch_ = batch;  // its memory is used again
  batch_.clock.realtime_ns += shift_ns_;
  batch_.clock.device_ns += shift_ns_;
  for (int64_t& start_ns : batch_.intervals.start_ns) start_ns += shift_ns_;
  for (ResourceSample& sample : batch_.samples) sample.time_ns += shift_ns_;
  for (Mark& mark : batch_.marks) mark.time_ns += shift_ns_;
  for (ProgressReport& report : batch_.progress) {
    report.time_ns += shift_ns_;
    for (InFlightCollective& collective : report.in_flight) collective.launched_ns += shift_ns_;
  }
  return sink_.Write(batch_);
}

}  // namespace eroica

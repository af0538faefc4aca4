// Small jobs that get on for some steps and then stand still, as their producers would report it:
// one all-reduce a step, then a report each second.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/event_batch.h"

namespace eroica::testing {

enum class StandingFault {
  // the culprit's training thread is in kStuckFunction, its peers wait in the next all-reduce
  kNeverLaunches,
  kDies,             // nothing more comes from the culprit
  kTransferStands,   // all are in the next all-reduce
  kWrongCollective,  // the culprit is in a broadcast instead
  kCheckpoint,       // all write a checkpoint, and the first rank is long about it
};

inline constexpr char kStuckFunction[] = "queue.py: put";

struct StandingJobOptions {
  uint32_t ranks = 4;
  int64_t steps = 10;  // that end; the next one stands still
  int64_t step_seconds = 1;
  StandingFault fault = StandingFault::kNeverLaunches;
  uint32_t culprit = 0;
  int64_t report_seconds = 30;
  int64_t steps_after = 0;  // when the job goes on
};

// By rank, then by sequence. Windows of five steps.
std::vector<EventBatch> StandingJobBatches(const StandingJobOptions& options);

}  // namespace eroica::testing

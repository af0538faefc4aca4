// What is older than the configured retention leaves the store: patterns and summaries, window by
// window. Findings stay until their job is removed.
#pragma once

#include <absl/status/status.h>

#include <cstdint>

#include "schemas/ids.h"
#include "state_store/state_store.h"

namespace eroica {

// All windows of time with a smaller index than this, of all jobs. One range tombstone a table:
// call it when a good many windows have become old (every hour of event time), not for each.
absl::Status ExpireTimeWindows(StateStore& store, int64_t before_index);
// The job's windows of steps with a smaller index than this.
absl::Status ExpireStepWindows(StateStore& store, const JobId& job, int64_t before_index);

}  // namespace eroica

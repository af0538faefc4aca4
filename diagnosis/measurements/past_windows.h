// What is kept of a job's earlier windows, for the diagnosis of the next one: one row of a kind for
// each window, oldest first. Views of what somebody else owns.
#pragma once

#include <span>

#include "diagnosis/measurements/rank_times.h"
#include "schemas/pattern_batch.h"

namespace eroica {

struct PastWindows {
  std::span<const PatternBatch> profiles;  // of the whole job: job_profile.h
  std::span<const RankTimes> times;        // what its ranks took: lasting_excess.h, device_calls.h
  std::span<const RankTimes> work;         // how much their kernels had to do: lasting_excess.h
  std::span<const RankTimes> bytes;        // what they exchanged: exchanged_bytes.h
};

}  // namespace eroica

// Whether a rank's telemetry shows where it waits for others. Without that all of its steps are
// busy time, and no late rank shows in them: in a synchronizing job all steps are equally long.
#pragma once

#include <algorithm>

#include "diagnosis/measurements/symptom.h"
#include "schemas/pattern_batch.h"

namespace eroica {

// A collective, a send or a receive was seen, or a function that is known to wait for peers.
inline bool SeesWaits(const PatternBatch& batch) {
  return !batch.communicators.empty() || std::ranges::any_of(batch.patterns, IsSymptom) ||
         std::ranges::any_of(batch.steps,
                             [](const StepRecord& step) { return step.peer_wait_ns > 0; });
}

}  // namespace eroica

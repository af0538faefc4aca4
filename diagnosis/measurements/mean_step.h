// The mean training step of a rank in a window, or of a job's profile (job_profile.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "schemas/pattern_batch.h"

namespace eroica {

// All 0 where there are no steps.
struct MeanStep {
  double steps = 0;  // that it is the mean of
  double duration_ns = 0;
  double wait_ns = 0;  // for peers
  double busy_ns() const { return duration_ns - wait_ns; }
};

MeanStep MeanStepOf(const PatternBatch& batch);

inline double ProfileStepNs(const PatternBatch& profile) { return MeanStepOf(profile).duration_ns; }

// A time of the whole window brought to one step; as it is where there are none.
double PerStep(const PatternBatch& batch, int64_t ns);
inline double PerStep(const MeanStep& step, int64_t ns) {
  return static_cast<double>(ns) / std::max(1.0, step.steps);
}

}  // namespace eroica

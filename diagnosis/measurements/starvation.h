// How long a rank's training thread could have run and was not let: it waited for a processor or
// for the interpreter's lock.
#pragma once

#include <algorithm>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/thread_function.h"
#include "schemas/pattern_batch.h"

namespace eroica {

// Of the window, whatever else the rank's device and connections did at the time.
inline double StarvedNs(const PatternBatch& batch) {
  double ns = 0;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (IsStarvation(pattern.name)) ns += static_cast<double>(pattern.total_ns);
  }
  return ns;
}

// Of the window, where nothing more important went on.
inline double CriticalStarvedNs(const PatternBatch& batch) {
  double ns = 0;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (IsStarvation(pattern.name)) ns += static_cast<double>(pattern.critical_ns);
  }
  return ns;
}

// Of the window, by which the thread waited for a processor alone, and nothing more important ran.
inline double CriticalProcessorWaitNs(const PatternBatch& batch) {
  double ns = 0;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (pattern.name.starts_with(kWaitForProcessor)) ns += static_cast<double>(pattern.critical_ns);
  }
  return ns;
}

// For how long its thread wants to run in a mean step: busy, and not waiting for a processor. Who
// wants to run for longer also waits for longer, where ranks outnumber processors, and that is no
// fault of these.
inline double WantsToRunNs(const PatternBatch& batch, const MeanStep& step) {
  return std::max(0.0, step.busy_ns() - CriticalProcessorWaitNs(batch) / std::max(1.0, step.steps));
}

}  // namespace eroica

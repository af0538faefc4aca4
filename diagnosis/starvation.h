// How long a rank's training thread could have run and was not let: it waited for a processor or for
// the interpreter's lock.
#pragma once

#include "diagnosis/thread_function.h"
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

}  // namespace eroica

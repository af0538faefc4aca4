// How long a rank's training thread could have run and was not let: it waited for a processor or
// for the interpreter's lock.
#pragma once

#include <string_view>

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

// Where a host has fewer processors than its ranks want, all of them wait for one, and who waits
// longer may be the scheduler's turn for a window or two. So it is where the others wait for a
// third as long at least, and it costs less than a sixth of the step: healthy ranks of live jobs
// differed by up to a tenth, those that shared a processor with a neighbor by a third. A claim of
// it must be made in so many windows.
inline constexpr double kWindowsOfTurns = 3;
inline bool MayBeTurnOfTheScheduler(std::string_view function, double own_ns, double others_ns,
                                    double step_ns) {
  constexpr double kThird = 1.0 / 3;
  constexpr double kSixth = 1.0 / 6;
  return function.starts_with(kWaitForProcessor) && others_ns >= kThird * own_ns &&
         own_ns - others_ns < kSixth * step_ns;
}

}  // namespace eroica

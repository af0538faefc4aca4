// What the training thread runs while something else holds the critical path, mostly a receive that
// waits: nobody is late by it, and yet it tells that the rank runs it. In a pipeline what all
// stages run before their forward pass is critical on the first one alone.
#pragma once

#include <cstdint>

#include "schemas/function.h"

namespace eroica {

// Shares of the window that such a function is critical for at most, and that it runs for at least.
inline constexpr double kHiddenCriticalMost = 0.005;
inline constexpr double kHiddenTotalLeast = 0.02;

// Such rows are sent to diagnose though they are small; what ranks run is compared without them
// (CrossRankView::functions()), RunsForNs() finds them.
inline bool IsHidden(FunctionClass function_class, WaitKind wait, int64_t critical_ns,
                     int64_t total_ns, int64_t window_ns) {
  if (function_class != FunctionClass::kPython || wait != WaitKind::kNone) return false;
  const auto window = static_cast<double>(window_ns);
  return static_cast<double>(critical_ns) < kHiddenCriticalMost * window &&
         static_cast<double>(total_ns) >= kHiddenTotalLeast * window;
}

}  // namespace eroica

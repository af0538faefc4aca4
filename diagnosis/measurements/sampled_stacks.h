// How well functions are known whose stacks a live producer samples: some twenty times a second, so
// that what takes a few per cent of a window of two seconds is seen once or twice in it, or not at
// all.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnosis/measurements/thread_function.h"
#include "schemas/pattern_batch.h"

namespace eroica {

// For how long one sample of the window stands; 0 where the rank's stacks are not sampled: then
// functions are traced, and their times are what they took.
inline double SampleNs(const PatternBatch& batch) {
  const auto stacks = std::ranges::find(batch.levels, Resource::kStacks, &ResourceLevel::resource);
  if (stacks == batch.levels.end() || stacks->samples == 0) return 0;
  return static_cast<double>(batch.window.duration_ns()) / static_cast<double>(stacks->samples);
}

// What is measured beside the stacks are mostly waits: for data, for a processor. Waits for the GIL
// are seen by the ticks of the sampler. Collections of garbage and regions are measured, and taken
// for sampled.
inline bool IsSeenInStacks(const FunctionPattern& pattern) {
  if (pattern.function_class != FunctionClass::kPython) return false;
  return pattern.wait == WaitKind::kNone || pattern.name.starts_with(kWaitForGil);
}

// By how many standard errors own_ns is more than others_ns, both of all that was sampled, where a
// sample stands for sample_ns. Counts of samples are Poisson's, and the root of one has an error of
// a half however large it is (Anscombe 1948). The others are taken for known: they are the median
// of many.
inline double SamplingErrorsBetween(double own_ns, double others_ns, double sample_ns) {
  if (sample_ns <= 0) return std::numeric_limits<double>::infinity();
  constexpr double kAnscombe = 3.0 / 8;
  const auto root = [sample_ns](double ns) {
    return std::sqrt(std::max(0.0, ns) / sample_ns + kAnscombe);
  };
  return 2 * (root(own_ns) - root(others_ns));
}

// A claim must exceed so many: sampling noise hardly reaches them, of some hundred functions on
// some hundred ranks, window after window.
inline constexpr double kSamplingErrors = 5;

}  // namespace eroica

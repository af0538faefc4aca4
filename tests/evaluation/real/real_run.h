// A real job, recorded in one way or another, through all stages and judged. No clock: the same job
// gives the same runs.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/evaluation/real/real_verdict.h"

namespace eroica {

struct RealRun {
  std::string job;
  bool healthy = false;
  Variation variation;
  // Whether anybody who is at fault is among the recorded ranks; also where nobody is at fault.
  bool culprit_recorded = true;
  std::vector<ExpectedFinding> expected;  // of the job, whatever is recorded
  std::vector<SaidFinding> said;
  CaptureGaps gaps;  // as `eroica diagnose` and `eroica run` end with
  RealVerdict verdict;
};

// What a column of the table is called: "half", "half, culprit out", "no stacks" ...
std::string ColumnOf(const RealRun& run);
// All of them, in order.
std::vector<std::string> RealColumns();

absl::StatusOr<RealRun> RunReal(const RealJob& job, const Variation& variation);

// Told how many of how many are done; an error ends it.
using VariationProgress = std::function<absl::Status(size_t done, size_t total)>;
// Of every variation, in order.
absl::StatusOr<std::vector<RealRun>> RunVariations(const RealJob& job,
                                                   const VariationProgress& progress);

using OutcomeCounts = std::array<uint32_t, kRealOutcomeCount>;  // by outcome
OutcomeCounts CountOutcomes(std::span<const RealRun> runs);

}  // namespace eroica

// The frontier of a step (StageFrontier, arXiv 2606.06751): at each stage boundary the cumulative
// time of the rank that is furthest along. Its increments add up exactly to the step's exposed
// time.
#pragma once

#include <array>
#include <cstdint>

#include "diagnosis/step_accounting/step_table.h"

namespace eroica {

struct FrontierAdvance {
  RankIndex leader = 0;  // the rank that is furthest along at the stage's end, of equals the lowest
  // the frontier at the stage's end less that at its begin; never negative
  int64_t increment_ns = 0;
  // over the runner-up at the stage's end; 0 where another rank is as far, the increment where
  // there is no other
  int64_t lead_ns = 0;
  int64_t own_ns = 0;            // that the leader spent in the stage
  int64_t longest_other_ns = 0;  // that any other rank spent in it
};
using StepFrontier = std::array<FrontierAdvance, kStepStageCount>;

// Requires a marked row with at least one rank.
StepFrontier FrontierOf(const StepRow& row);

}  // namespace eroica

// Slow steps of ranks that are well in most others. A rank is measured by its own usual step, and
// by what the steps of comparable ranks differ by at the same time, since a long sequence is long
// for all: those of its role, or all ranks without peers together (the stages of a pipeline of
// single ranks). So ranks that are all slow in a tenth of their steps, each in steps of its own,
// stand out in these, where their means hardly differ. Several slow steps in a row until the
// window's end are no spike of a rank with peers, but what lasts from there on: the next window
// shows it.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

struct StepSpikeOptions {
  double min_share = 0.01;  // of the window's steps: all that is asked for
  size_t min_lone = 4;      // ranks without peers that are compared: fewer share little
  // that all of them have: fewer do not tell a spike from a rank that is slow
  uint32_t min_steps = 3;
  // a slow step over what steps differ by: lengths of inputs have long tails
  double min_separation = 9;
  double min_step_share = 0.03;  // of the rank's usual step: no pause of less is asked for
  // of those compared, or one, that are slow in the same step: more have it from elsewhere
  double max_ranks = 0.25;
};

// One rank's slow steps, at most half of those of the window.
struct StepSpike {
  RankIndex rank = 0;
  uint32_t steps = 0;
  uint32_t slow_steps = 0;
  uint32_t at_end = 0;    // of these, in a row until the window's end
  uint32_t others = 0;    // ranks that it was compared with
  bool lone = false;      // of other roles
  double step_ns = 0;     // mean
  double busy_ns = 0;     // mean a step
  double usual_ns = 0;    // busy, median
  double excess_ns = 0;   // of the slow steps, mean over all steps
  double largest_ns = 0;  // excess of the slowest step
  double separation = 0;  // of that step, over what steps differ by
};

// By rank within each role, ranks without peers last.
std::vector<StepSpike> FindStepSpikes(const CrossRankView& view, const StepSpikeOptions& options);

}  // namespace eroica

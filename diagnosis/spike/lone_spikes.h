// Single slow steps of ranks without peers: the stages of a pipeline of single ranks. Each is measured by its own other steps, and by what these ranks' steps differ by
// together, since a long sequence is long for all.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/cross_rank_view.h"

namespace eroica {

struct LoneSpikeOptions {
  size_t min_ranks = 4;          // without peers
  uint32_t min_steps = 3;        // that all of them have
  double min_separation = 9;     // a slow step over what steps differ by
  double min_step_share = 0.03;  // of the rank's usual step: no pause of less is asked for
};

// One rank's slow steps, at most half of those of the window.
struct LoneSpike {
  RankIndex rank = 0;
  uint32_t steps = 0;
  uint32_t slow_steps = 0;
  uint32_t others = 0;    // ranks that it was compared with
  double step_ns = 0;     // mean
  double busy_ns = 0;     // mean a step
  double usual_ns = 0;    // busy, median
  double excess_ns = 0;   // of the slow steps, mean over all steps
  double largest_ns = 0;  // excess of the slowest step
  double separation = 0;  // of that step, over what steps differ by
};

// By rank.
std::vector<LoneSpike> FindLoneSpikes(const CrossRankView& view, const LoneSpikeOptions& options);

}  // namespace eroica

// What ranks run now and then, each in steps of its own, where steps differ so much from each other
// that no single one stands out (step_spikes.h): a rank that ran it for longer over the window is
// late by as much longer, nanosecond for nanosecond. That line through the ranks is known far
// better than any step is.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

struct RotationOptions {
  uint32_t min_steps = 3;   // of the window
  size_t min_ranks = 3;     // that run it, none of them with half of the time
  double min_share = 0.01;  // of a step: what they cost at least
  // p-value of how the slowest steps of the ranks fall together, were each drawn at random: up to
  // it they do not rotate
  double max_at_once = 0.1;
  // by how much ranks are late for each nanosecond of it: around 1, or it is not this that they are
  // late by
  double min_slope = 0.5;
  double max_slope = 2;
  double max_p_value = 1e-3;  // that ranks are late so much like they run it
};

// One function of the training threads.
struct Rotation {
  const FunctionPattern* sample = nullptr;  // where it took longest; lives as long as the view
  size_t ranks = 0;                         // that ran it in this window
  uint32_t occurrences = 0;                 // ranks times steps
  size_t early = 0;          // ranks that were late the most in the first half of the window
  bool of_one_host = false;  // of several: it may be the host's, and have begun in this window
  uint32_t rank_steps = 0;   // of so many
  double occurrence_ns = 0;  // mean
  // a step of the job: what one takes, in so many steps as have one when they come at random
  double cost_ns = 0;
  double slope = 0;
  double p_value = 1;
};

// By name of the function. What more than half of the ranks of a role ran equally often, all roles
// together, may be what all run at once (garbage that is collected on all ranks in one step) and is
// left out.
std::vector<Rotation> FindRotations(const CrossRankView& view, const RotationOptions& options);

}  // namespace eroica

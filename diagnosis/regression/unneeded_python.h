// Python that takes a large part of every step, about the same on all ranks, and is none of what a
// training step is made of: no comparison of ranks and no past shows it, only what can be expected
// of a step (EROICA, NSDI'26, section 4.3: a Python function is expected to hold at most 1 % of the
// critical path).
#pragma once

#include <optional>
#include <string>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

struct ExpectationOptions {
  // of a step. The paper says 0.01 and leaves it to people to sort the list; a finding that no peer
  // and no past confirms must be worth it
  double max_python_share = 0.1;
  double max_spread = 0.5;  // (most - least) / least over the ranks: "about the same"
  uint32_t min_ranks = 3;   // of a role
  uint32_t min_steps = 3;
};

struct UnneededPython {
  std::string name;    // the deepest frame of the source that holds at least half of it
  std::string stack;   // its callers
  double ns = 0;       // a step; of the rank that spends least in it
  double step_ns = 0;  // mean
  uint32_t ranks = 0;
};

// On ranks without a device, where Python and operators compute, only what sleeps for half of its
// time and lies outside of forward and backward pass, optimizer, data loading and communication,
// and only where those are recognized for a tenth of Python's time: of a job whose training is
// called otherwise (JAX, own C++) nobody knows what it needs, and what computes may be needed under
// any name (an environment's step, augmentation, a tokenizer). On ranks with one, any function by
// itself, since the device idles meanwhile. The training loop's own frame and its callers contain
// the steps, and are not named. Data loading is left out on both: what it may cost is known to the
// job's past alone.
std::optional<UnneededPython> FindUnneededPython(const CrossRankView& view,
                                                 const ExpectationOptions& options);

}  // namespace eroica

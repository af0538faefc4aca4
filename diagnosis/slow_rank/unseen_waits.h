// Claims for jobs without seen waits for other ranks (own C++, MPI, JAX with steps alone). There
// all of a step is busy time, and all steps are equally long. A function still shows that one rank
// runs for long and its peers hardly run. Whether the others wait for the rank, or the rank waits
// for them in that function, is not known: the claim states the difference, and what would decide.
#pragma once

#include <vector>

#include "diagnosis/measurements/cause_function.h"
#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/finding.h"

namespace eroica {

struct UnseenWaitsOptions {
  double min_share = 0.1;  // of a step that the function must take longer than on the peers
  // of the function's time that the peers do not need: each step waits on every rank, if only for
  // a moment, so that a common wait is rarely so much longer on one of them alone
  double min_specificity = 0.75;
  // of the window's steps that must show it; not every step is sampled
  double min_active_steps = 0.25;
  // By how many standard errors sampled stacks must show more of it. That many fewer than where one
  // window is enough, since several must show it of the same rank.
  double min_sampling_errors = 4;
  uint32_t min_steps = 8;
  uint32_t min_peers = 2;  // between two ranks it is open which one differs
  int64_t windows = 3;     // of the newest four that must show it
  CauseOptions cause;
};

// No claim where a wait of any rank is known, or where half of a role's ranks differ.
std::vector<Finding> FindUnseenWaits(const CrossRankView& view,
                                     const UnseenWaitsOptions& options = {});

}  // namespace eroica

// On ranks without a device waiting may hide in operators: an autograd function that exchanges and
// waits is one operator, and all ranks are equally busy then. The bytes of the exchange tell who
// has more work, and the operators that take less where it moves more tell who waits.
#pragma once

#include <vector>

#include "diagnosis/hypotheses/compute_growth.h"

namespace eroica {

struct HiddenWaitsOptions {
  // over a whole window: what is drawn anew for each step does not add up to that
  double min_bytes_growth = 0.5;
  double min_share = 0.1;  // of a step, by which the bytes explain that kernels take longer
  // of that, by which other operators take longer on the peers: their waiting
  double min_mirrored = 0.5;
  uint32_t min_steps = 3;
};

// A rank that has more work by the bytes that it exchanges, and that the others wait for.
struct HotRank {
  BusyTime busy;         // excess_ns: what the bytes explain
  ComputeGrowth growth;  // cause: kRouting
};

// At most one a role.
std::vector<HotRank> FindHotRanks(const CrossRankView& view, const HiddenWaitsOptions& options);

}  // namespace eroica

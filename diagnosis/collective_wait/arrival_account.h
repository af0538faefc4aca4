// Who arrived last, how often, and what the others lost by it: the members' summaries of all
// communicators of a window, added up by rank.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

struct ArrivalAccount {
  RankId rank;
  uint64_t operations = 0;  // in which all members met
  // times that it would arrive last if all members were equally likely to: the sum of 1 / members
  // over its operations
  double expected_last = 0;
  uint64_t last = 0;            // times that it did
  int64_t caused_wait_ns = 0;   // exposed waiting of the others while they waited for it
  int64_t exposed_wait_ns = 0;  // its own
  int64_t receive_wait_ns = 0;  // its own, for what other ranks send to it
  uint32_t largest_group = 0;
  // in which it caused more exposed waiting than any other member of a communicator
  std::set<int64_t> late_steps;
  std::vector<Blocker> blockers;  // what it ran when it came last, most caused wait first
};

// Probability that any of these ranks, were they all the same, would arrive last so often and make
// the others wait so long as this one. Of how often: binomial. Of how long: Fisher's F of its mean
// wait against the others' mean wait, with a degree of freedom for each operation (waits have heavy
// tails: half of those that exponential ones have). Both together by Fisher's method (Fisher 1925),
// times the number of ranks that it could have been.
double PValueOfArrivals(std::span<const ArrivalAccount> accounts, const ArrivalAccount& rank);

// By rank. Communicators of which members are missing say nothing about who is late and are left
// out.
std::vector<ArrivalAccount> AccountArrivals(const CrossRankView& view);

}  // namespace eroica

// A straggler whose excess lies in time in which nothing was recorded on its training thread:
// Python call stacks were not recorded, events were lost, or a file was cut. The rank is certain,
// the function cannot be named.
#pragma once

#include <optional>

#include "diagnosis/measurements/busy_time.h"
#include "schemas/finding.h"

namespace eroica {

// Times are means a step.
struct UnattributedWork {
  // busy time less the critical time of every function that was recorded, at least 0; lengthened by
  // what the peers wait for a processor meanwhile
  double own_ns = 0;
  double peers_ns = 0;  // median over the other ranks of its role
  double excess_ns() const { return own_ns - peers_ns; }
  double specificity() const { return own_ns > 0 ? excess_ns() / own_ns : 0; }  // at most 1
};

// Of any rank with steps, a step: its busy time less the critical time of every function that was
// recorded, at least 0.
double UnattributedNs(const RankView& rank);
// Likewise of all steps of a rank's window together.
double UnattributedOfWindowNs(const PatternBatch& batch);

// Nothing where less than `min_coverage` of the rank's excess is unattributed, or where the events
// that are missing could themselves make up the excess: waits for peers that are lost look like
// work.
std::optional<UnattributedWork> FindUnattributedWork(const CrossRankView& view,
                                                     const BusyTime& busy, double min_coverage);

// Names the rank, no function, and says what is missing.
Finding DescribeUnattributedWork(const CrossRankView& view, const BusyTime& busy,
                                 const UnattributedWork& work, double min_separation);

}  // namespace eroica

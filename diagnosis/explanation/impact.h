// What each claim costs the job, by the accounting of its steps (diagnosis/step_accounting): exact,
// and no loss is claimed twice.
#pragma once

#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/finding.h"

namespace eroica {

// Measured against what the job was before, or could be, and not against peers.
bool ConcernsEverybody(const Finding& claim);

// Sets lost_ns_per_step of the claims of one window, each about one culprit or about nobody in
// particular, before they are merged: merged claims cost the sum of their parts.
// - A rank that is slow costs what the accounting charges it with: the steps would have been
// shorter by so much had it been as busy as its peers, shared fairly
//   (Shapley) with whoever was late at the same time. Several claims about one rank divide it in
//   the ratio of what they claim.
// - Where steps have no marks of their stages, who was late at the same time cannot be seen: ranks
// that are slow in the same function are taken to be, others not.
// - Everything else that makes ranks wait (communication, imbalance, the order of arrival, what the
// accounting cannot see: half of a role and more) costs what it
//   claims, as far as that is left of the most that any rank waited.
// - What is measured against the job's own past, not against peers, keeps its own figure.
// Windows without steps have no account: claims stay as they are.
void AssignImpacts(const CrossRankView& view, std::vector<Finding>& claims);

}  // namespace eroica

// How one rank's delay reaches the others: over point-to-point links and communicators, from the
// root cause to the step time that the job lost.
#pragma once

#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/finding.h"

namespace eroica {

// Follows who waited for whom from `culprit` outwards, each rank once, the largest waits first; at
// most kMaxEffects of them.
inline constexpr size_t kMaxEffects = 12;
std::vector<Effect> FollowEffects(const CrossRankView& view, RankId culprit);

}  // namespace eroica

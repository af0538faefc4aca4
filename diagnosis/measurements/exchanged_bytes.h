// Who exchanges more than its peers, for the looks over many windows: tokens that are routed anew
// for each step make some rank the busiest of a few steps at random. Whose experts are asked for
// more than others receives more in every window.
#pragma once

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// The bytes of ranks in one window, in the form of WorkTimesOf (lasting_excess.h): a step of one
// second of which the median rank of a role works half, and the others by as much longer as they
// exchange more, in the collective whose bytes differ most in the role. No rows of roles in which
// all exchange as many. Cost: the rows of collectives.
RankTimes ExchangedOf(const CrossRankView& view);

}  // namespace eroica

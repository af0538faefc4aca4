// What a rank runs longer than its peers of each class of functions, those too small for a row of
// their own included: a rank that is slower in everything a little, where no single function stands
// out. Says nothing of whether the rank was late; a victim's waiting hides in whatever its main
// thread is in (METHODS 8).
#pragma once

#include <array>
#include <cstdint>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// Own critical time less the median of the peers', in ns a training step, or a window where the
// rank or a peer has no steps. 0 of collectives, and where the rank has no peer in its role, is
// silent or not in the view. Of a larger role 1,024 peers are compared, an even choice.
std::array<int64_t, kFunctionClassCount> ClassExcessOverPeers(const CrossRankView& view,
                                                              RankIndex rank);

}  // namespace eroica

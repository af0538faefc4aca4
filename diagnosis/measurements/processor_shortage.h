// Whether the ranks of a host have too few processors: their threads wait for them.
#pragma once

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// Of the time that all ranks on the rank's host spend in steps, the share in which their training
// threads could have run and were not let (thread_function.h: kWaitForProcessor), from 0 to 1. 0
// where nobody recorded it.
double ShareWaitingForProcessors(const CrossRankView& view, RankIndex rank);

}  // namespace eroica

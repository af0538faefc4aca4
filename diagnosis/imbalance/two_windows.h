// Ranks that are late in a window and the one before. As if both were one of twice as many steps:
// of two windows too little is known of how windows vary (lasting_excess.h), of their steps enough.
#pragma once

#include <vector>

#include "diagnosis/busy_time.h"
#include "diagnosis/cross_rank_view.h"

namespace eroica {

// By rank: those that are late in most steps of this window, by no less than half of what they were
// in the one before, and the other way round. steps and slow_steps are those of both. Only means
// are kept of the window before: its steps are taken to vary as those of this one do, so that this
// one alone must tell half of it.
std::vector<BusyTime> LateInTwoWindows(const CrossRankView& view, double max_chance);

}  // namespace eroica

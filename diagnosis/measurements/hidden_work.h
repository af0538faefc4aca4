// For how long ranks run what others are late by, whether anybody waits for it or not.
#pragma once

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// A step, critical or not; 0 where it is not told. Only functions of the training thread are told
// though they are hidden (schemas/hidden_row.h).
double RunsForNs(const RankView& rank, FunctionId function);

}  // namespace eroica

// In how many of its steps a job runs a function: what comes now and then (a checkpoint, an
// evaluation, a collection) is in some windows and not in others, and the job is the same.
#pragma once

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// Of the steps: less comes now and then.
inline constexpr double kMostSteps = 0.75;

// Whether it is on the critical path in most of the window's steps, on the median rank of some
// role: in a pipeline a function may be critical on the others only now and then.
bool RunsInMostSteps(const CrossRankView& view, FunctionId function);

}  // namespace eroica

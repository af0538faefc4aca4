// How much the devices of a job differ, by roles other than one: each rank beside the others of its
// own role. Two replicas of a pipeline stage say little of that, those of all stages more.
#pragma once

#include <cstdint>

#include "diagnosis/measurements/cross_rank_view.h"
#include "diagnosis/statistics/healthy_spread.h"

namespace eroica {

// Relative, of the time in kernels on data; of 64 ranks at most. No freedom where no other role has
// two ranks with such kernels.
HealthySpread DevicesElsewhere(const CrossRankView& view, uint32_t role);

}  // namespace eroica

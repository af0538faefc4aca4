// A rank that surely holds the others up, though what it ran in that time is not in its telemetry:
// a file was cut, events were lost.
#pragma once

#include "diagnosis/busy_time.h"
#include "schemas/finding.h"

namespace eroica {

// Whether telemetry of the rank is missing, and yet too little for the lost waits (which look like
// work) to make up its excess.
bool LacksTheCause(const CrossRankView& view, const BusyTime& busy);

// Names the rank, no function, and says what is missing.
Finding DescribeUntoldWork(const CrossRankView& view, const BusyTime& busy, double min_separation);

}  // namespace eroica

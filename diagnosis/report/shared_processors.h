// What a finding says of a host whose ranks have too few processors.
#pragma once

#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/finding.h"

namespace eroica {

// Where the other ranks on the rank's host wait for processors, too (kShareOfShortage), which of
// them is late longest is chance: adds the measure kSharedProcessors, and a caveat that says so.
// Does nothing elsewhere.
void SayThatProcessorsAreShared(const CrossRankView& view, RankIndex rank, Finding* finding);

// ns a step by which the rank waits for a processor for longer than the others on its host. A late
// rank waits for it where all wait for the rank, the others beside their waits for it: another
// function is no reason for that part.
double LateByWaitsForProcessors(const CrossRankView& view, const BusyTime& busy);

}  // namespace eroica

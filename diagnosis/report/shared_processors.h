// What a finding says of a host whose ranks have too few processors.
#pragma once

#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/finding.h"

namespace eroica {

// Where the other ranks on the rank's host wait for processors, too (kShareOfShortage), which of
// them is late longest is chance: adds the measure kSharedProcessors, and a caveat that says so.
// Does nothing elsewhere.
void SayThatProcessorsAreShared(const CrossRankView& view, RankIndex rank, Finding* finding);

}  // namespace eroica

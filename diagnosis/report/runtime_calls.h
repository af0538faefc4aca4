// What a slow Python frame did below: calls of the device's runtime, such as cudaMalloc. The frame
// holds the critical path (schemas/function.h), the call is why.
#pragma once

#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/finding.h"

namespace eroica {

// Where a claim about one rank's Python frame is explained by CPU operations that never were on the
// critical path themselves, since the frame above them was: they are named, the heaviest as the
// function, and the frame becomes its caller. Their time must exceed that of the rank's peers by at
// least half of what the claim says is lost. Other claims stay as they are.
void NameRuntimeCalls(const CrossRankView& view, Finding& claim);

}  // namespace eroica

// A claim about a hang in words: title, explanation, what to do, caveats.
#pragma once

#include "diagnosis/hang/hang_claim.h"
#include "diagnosis/hang/hang_view.h"
#include "diagnosis/hang/wait_graph.h"
#include "schemas/finding.h"

namespace eroica {

// After the culprits, the function and the victims.
void AddSentences(const HangView& view, const WaitGraph& graph, const HangClaim& claim,
                  Finding* finding);

}  // namespace eroica

// Who waits because of a root, and the chain from it to them.
#pragma once

#include "diagnosis/hang/hang_claim.h"
#include "diagnosis/hang/wait_graph.h"
#include "schemas/finding.h"

namespace eroica {

// Victims: every rank that waits, through whatever others, for the culprits or in the operation
// that stands still. Chain: operation by operation outwards.
void AddVictims(const WaitGraph& graph, const HangClaim& claim, Finding* finding);

}  // namespace eroica

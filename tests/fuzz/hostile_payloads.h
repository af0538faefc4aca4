// Payloads that the decoder lets through, at and beyond what any producer sends: built from the
// bytes of a fuzz target. Empty where what the bytes say breaks an invariant.
#pragma once

#include <string>

#include "tests/fuzz/fuzz_bytes.h"

namespace eroica {

std::string HostileEventBatch(FuzzBytes& bytes);
std::string HostilePatternBatch(FuzzBytes& bytes);
std::string HostileCollectiveBatch(FuzzBytes& bytes);
std::string HostileCollectiveSummary(FuzzBytes& bytes);
std::string HostileRankStanding(FuzzBytes& bytes);

}  // namespace eroica

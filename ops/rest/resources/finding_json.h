// A finding as REST shows it: as on the topic, with when it was seen and what people did about it.
#pragma once

#include <cstdint>
#include <string>

#include "ops/findings/finding_index.h"

namespace eroica {

// kBrief: of many victims the kBriefVictims that lost the most; victims_total counts all.
enum class FindingView : uint8_t { kFull = 0, kBrief = 1 };

std::string ShownFinding(const FindingEntry& entry, FindingView view = FindingView::kFull);

}  // namespace eroica

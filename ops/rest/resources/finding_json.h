// A finding as REST shows it: as on the topic, with when it was seen and what people did about it.
#pragma once

#include <string>

#include "ops/findings/finding_index.h"

namespace eroica {

std::string ShownFinding(const FindingEntry& entry);

}  // namespace eroica

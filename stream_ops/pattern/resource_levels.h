// How far each resource was used in a window, whatever ran: mean, highest, and of how many samples.
// Pure. Samples are counted in whole steps of 1/65535, as they travel, so that sums are exact and
// the edge says what the node says.
#pragma once

#include <span>
#include <vector>

#include "schemas/event_batch.h"
#include "schemas/pattern_batch.h"

namespace eroica {

// samples: of the window, in any order. By resource; none for what was not sampled.
std::vector<ResourceLevel> LevelsOf(std::span<const ResourceSample> samples);

}  // namespace eroica

// Into which windows the steps of traces are cut where nobody says it: into a few, so that a fault
// that lasts is distinguished from what happened once, and one that begins late is compared with
// its own past; into one where the steps are too few for that, or where the trace holds but a
// sample of them.
#pragma once

#include <cstdint>
#include <span>

#include "producers/import/rank_trace.h"
#include "schemas/window.h"

namespace eroica {

// Of the steps that any of the traces marks. steps_wanted: 0 where it is to be chosen. The first
// window begins with the first step.
StepWindows ChooseWindows(std::span<RankTrace* const> traces, uint32_t steps_wanted);

}  // namespace eroica

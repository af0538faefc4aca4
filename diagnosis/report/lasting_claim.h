// Claims that rest on many windows (lasting_excess.h), where none of them shows enough.
#pragma once

#include <optional>
#include <vector>

#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/finding.h"

namespace eroica {

// What a rank is late by over windows, steps and slow_steps in steps of this one, so that the
// newest window can say why; nothing where it is no longer so, or a claim of this window names the
// rank already.
std::optional<BusyTime> LastingInSteps(const CrossRankView& view, const BusyTime& lasting,
                                       const std::vector<Finding>& claims);

// In how many windows.
void TellLasting(const BusyTime& lasting, Finding& finding);

}  // namespace eroica

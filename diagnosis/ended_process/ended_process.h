// A rank whose process ended while the job trained. Claim, evidence and silence: README.md beside
// this file. Pure.
#pragma once

#include <optional>

#include "schemas/finding.h"
#include "schemas/rank_standing.h"

namespace eroica {

// Of the standing that its launcher's host sent for it (RankStanding::end), which it does for the
// process alone that made the job fail. world_size: of the job, where more ranks are known than the
// standing says. Nothing where the process has not ended, or where the order of the ends does not
// show that it was the first (ProcessEnd::job_failure). It has an id.
std::optional<Finding> FindEndedProcess(const RankStanding& standing, uint32_t world_size);

// Whether an open finding of the job says already why its processes end. The process of another
// rank ended no later, and while this one ran: what ends after it ends because of it. Or this rank
// waits for another one in a hang, and fails by itself: its collective timed out.
bool IsExplainedBy(const Finding& open, const RankStanding& standing);

}  // namespace eroica

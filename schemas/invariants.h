// What holds of every batch that the codec lets through, in either direction: counts within the
// limits (codec.h), enums and indices in range, rows sorted, times in 0 .. kMaxTimeNs with no sum
// beyond, ranks below the world size, a job. Pure, linear, and in one place.
#pragma once

#include "schemas/collective_batch.h"
#include "schemas/collective_summary.h"
#include "schemas/control.h"
#include "schemas/drop_reason.h"
#include "schemas/event_batch.h"
#include "schemas/finding.h"
#include "schemas/pattern_batch.h"
#include "schemas/rank_standing.h"

namespace eroica {

// kNone where all invariants hold, else the reason to drop it.
DropReason CheckInvariants(const EventBatch& batch);
DropReason CheckInvariants(const PatternBatch& batch);
DropReason CheckInvariants(const CollectiveBatch& batch);
DropReason CheckInvariants(const CollectiveSummary& summary);
DropReason CheckInvariants(const Finding& finding);
DropReason CheckInvariants(const Control& control);
DropReason CheckInvariants(const RankStanding& standing);

}  // namespace eroica

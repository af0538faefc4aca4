// Writes what is known of one rank as EventBatches: intervals by start, call stacks resolved, marks
// in between.
#pragma once

#include <absl/status/status.h>

#include <cstdint>

#include "producers/core/batch_sink.h"
#include "producers/import/function_table.h"
#include "producers/import/import_report.h"
#include "producers/import/rank_trace.h"

namespace eroica {

// identity: complete but for what the trace knows itself (role, host, pid, device, host_only).
// Events whose absolute time is out of range are moved from imported to skipped in `counts`; totals
// of what was written are added to `report`.
absl::Status WriteRankTrace(TraceFunctions& functions, RankTrace& trace, ProducerIdentity identity,
                            ImportCounts& counts, ImportReport& report, BatchSink& sink);

}  // namespace eroica

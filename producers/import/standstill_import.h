// From the flight-recorder dumps of a job that stands still, one a rank, to one batch a rank: which
// collectives it has launched that have not ended, and in which groups it is. Dumps hold neither
// steps nor the moment at which they were written: ProgressReport::timed_out.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <filesystem>
#include <span>

#include "producers/core/batch_sink.h"
#include "producers/import/import_report.h"
#include "schemas/ids.h"

namespace eroica {

// Fails where no dump can be read, or where the sink fails; a dump that cannot be read is refused
// in the report. Batches are written by rank.
absl::StatusOr<ImportReport> ImportStandstill(std::span<const std::filesystem::path> dumps,
                                              const JobId& job, uint32_t window_steps,
                                              BatchSink& sink);

}  // namespace eroica

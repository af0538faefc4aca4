// Which rank of which job each trace is of: what the trace says, else its file's name. Tells two
// files of one rank and two jobs in one folder.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "producers/import/import_report.h"
#include "producers/import/rank_trace.h"

namespace eroica {

struct SettledRanks {
  uint32_t world_size = 0;
  std::vector<RankTrace*> traces;     // with distinct ranks, ascending
  std::vector<std::string> warnings;  // about the job
};

// Fills RankTrace::rank. A trace that cannot be used (its rank is taken, or nothing tells it) is
// refused: its file's events are counted as skipped, a warning says why. Fails where the traces
// belong to different jobs. files: by RankTrace::file.
absl::StatusOr<SettledRanks> SettleRanks(std::span<RankTrace* const> traces,
                                         std::span<FileReport> files);

}  // namespace eroica

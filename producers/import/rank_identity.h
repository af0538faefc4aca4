// Which rank of which job each trace is of: what the trace says, else its file's name. Tells two
// files of one rank and two jobs in one folder. And how large the job is.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "producers/import/import_report.h"
#include "producers/import/rank_trace.h"
#include "producers/import/stated_numbers.h"

namespace eroica {

struct SettledWorld {
  World world;
  std::vector<std::string> warnings;  // about the job
};

// Fills RankTrace::rank. A trace that cannot be used (its rank is taken, or nothing tells it) is
// refused: its file's events are counted as skipped, a warning says why. Fails where the traces
// belong to different jobs. files: by RankTrace::file.
// Answers with the traces that are left: with distinct ranks, ascending.
absl::StatusOr<std::vector<RankTrace*>> SettleRanks(std::span<RankTrace* const> traces,
                                                    std::span<FileReport> files);

// Once all groups of the traces are known. The world is as large as distributedInfo says, else as
// the largest rank, member or group that a trace speaks of. What contradicts it is said in the
// file's warnings, and counts as unknown. traces: those of SettleRanks.
absl::StatusOr<SettledWorld> SettleWorld(std::span<RankTrace* const> traces,
                                         std::span<FileReport> files);

}  // namespace eroica

// The training steps of a window lined up over its ranks by step number, as the accounting reads
// them. No clocks are compared: a step's time starts at 0 on each rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// One step on the ranks that report it, in columns: the account goes over each many times.
struct StepRow {
  int64_t id = 0;
  bool marked = true;           // every rank divides the step into its stages
  std::vector<RankIndex> rank;  // ascending
  std::vector<int64_t> duration_ns;
  std::vector<int64_t> peer_wait_ns;
  std::array<std::vector<int64_t>, kStepStageCount> stage_ns;

  size_t size() const { return rank.size(); }
};

// By step number. Steps that fewer than half of the reporting ranks have seen say nothing of the
// job and are left out, as are records with times that cannot be.
std::vector<StepRow> LineUpSteps(const CrossRankView& view);

// The same rows, lent to `take` one after another in memory for a few, until it says that it has
// enough (false). Only where all ranks that report steps report the very same ones, as mostly they
// do, and all with times that can be: otherwise false is returned, maybe after some rows, and
// LineUpSteps is what remains.
bool VisitSteps(const CrossRankView& view, const std::function<bool(const StepRow&)>& take);

// Whether there is any row.
bool HasSteps(const CrossRankView& view);

}  // namespace eroica

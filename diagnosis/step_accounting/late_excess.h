// How much later each rank of a step is than its peers, by stage: what the account charges.
#pragma once

#include <array>
#include <vector>

#include "diagnosis/step_accounting/step_table.h"

namespace eroica {

// Of one rank in one step. In an unmarked step all of it is in the first entry of excess_ns.
struct LateExcess {
  std::array<double, kStepStageCount> excess_ns{};  // busy time over the median of its peers; adds up to no more than that
  std::array<double, kStepStageCount> lag_ns{};     // at the stage's begin: cumulative time over the median of its peers, not below 0
};

// As row.ranks. A rank that is alone in its role has no peers, and no excess.
std::vector<LateExcess> LateExcessOf(const CrossRankView& view, const StepRow& row);

}  // namespace eroica

// How much later each rank of a step is than its peers, by stage: what the account charges.
#pragma once

#include <array>
#include <vector>

#include "diagnosis/step_accounting/step_table.h"

namespace eroica {

// Of one step, by stage, as row.rank. In an unmarked step all of it is in the first stage.
struct LateExcess {
  using Columns = std::array<std::vector<double>, kStepStageCount>;

  Columns excess_ns;  // busy time over the median of its peers; adds up to no more than that
  Columns lag_ns;     // at the stage's begin: cumulative time over the median of its peers, not below 0
};

// A rank that is alone in its role has no peers, and no excess.
LateExcess LateExcessOf(const CrossRankView& view, const StepRow& row);

}  // namespace eroica

// The training steps of a window lined up over its ranks by step number, as the accounting reads them. No clocks are compared: a step's
// time starts at 0 on each rank.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/cross_rank_view.h"

namespace eroica {

// One step on one rank.
struct RankStep {
  RankIndex rank = 0;
  StepRecord record;  // by value: the account goes over them many times, rank after rank
};

struct StepRow {
  int64_t id = 0;
  bool marked = false;          // every rank divides the step into its stages
  std::vector<RankStep> ranks;  // ascending
};

// By step number. Steps that fewer than half of the reporting ranks have seen say nothing of the job and are left out, as are records with
// times that cannot be.
std::vector<StepRow> LineUpSteps(const CrossRankView& view);

}  // namespace eroica

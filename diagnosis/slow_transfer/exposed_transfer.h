// How much of its steps each rank spends in collectives with nothing else running, and how much of
// that goes by in waiting for a member that is late. Pure.
#pragma once

#include <vector>

#include "diagnosis/cross_rank_view.h"

namespace eroica {

// Means a step.
struct ExposedTransfer {
  RankId rank;
  double step_ns = 0;
  // in collectives, not hidden behind work; sends and receives are not among them
  double exposed_ns = 0;
  // of that, by which the rank's collectives were longer than the shortest in their group
  double late_ns = 0;
  double share() const { return step_ns > 0 ? exposed_ns / step_ns : 0; }
};

// Of every rank that has steps, by rank.
std::vector<ExposedTransfer> FindExposedTransfers(const CrossRankView& view);

}  // namespace eroica

// The rows of a window that has one for each rank (lasting_excess.h, exchanged_bytes.h), beside the ranks of a view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "diagnosis/cross_rank_view.h"

namespace eroica {

// Calls visit(position, row) for the rows that are of ranks which report now, by rank.
template <typename Visit>
void ForEachRankRow(std::span<const RankView> ranks, const PatternBatch& window, Visit visit) {
  auto row = window.steps.begin();
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto number = static_cast<int64_t>(ranks[i].rank.value);
    while (row != window.steps.end() && row->id < number) ++row;
    if (row != window.steps.end() && row->id == number) visit(i, *row);
  }
}

}  // namespace eroica

// Walks over what the ranks of a job took in a window (schemas/diagnosis_state.h): 31 windows of
// 100,000 ranks are read again for each new one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/diagnosis_state.h"

namespace eroica {

struct RankView;  // cross_rank_view.h

// The numbers of ranks that lie far from each other in a view, for what walks over the rows of many
// windows.
std::vector<uint32_t> NumbersOf(std::span<const RankView> ranks);

// The first of the rows that is of this rank or of a later one: the next one mostly, or as far away
// as a few of many ranks lie.
inline const RankTime* RowOfRank(const RankTime* row, const RankTime* end, uint32_t number) {
  for (std::ptrdiff_t stride = 1; row != end && row->rank < number; stride *= 2) {
    const RankTime* const next = row + std::min(stride, end - row);
    if (next == end || next->rank >= number)
      return std::partition_point(row + 1, next,
                                  [number](const RankTime& one) { return one.rank < number; });
    row = next;
  }
  return row;
}

// Calls visit(position, row) for the rows of the window that are of these ranks, ascending.
template <typename Visit>
void ForEachRankTime(std::span<const uint32_t> numbers, const RankTimes& window, Visit visit) {
  const RankTime* const rows = window.rows.data();
  const RankTime* const end = rows + window.rows.size();
  const RankTime* row = rows;
  for (size_t i = 0; i < numbers.size() && row != end; ++i) {
    const bool all_report = numbers[i] < window.rows.size() && rows[numbers[i]].rank == numbers[i];
    row = all_report ? rows + numbers[i] : RowOfRank(row, end, numbers[i]);
    if (row != end && row->rank == numbers[i]) visit(i, *row++);
  }
}

}  // namespace eroica

// A share of a stretch of time as intervals, where it is known how long something lasted within the
// stretch and not when. Every cell of 10 ms gets its part: a single interval would be covered by
// whatever the thread began after it did, as of two functions on a lane the later one counts. What
// is put at the beginnings of cells never meets what is put at their ends, as long as both together
// are no more than the time there was.
#pragma once

#include <algorithm>
#include <cstdint>

namespace eroica {

enum class CellSide : uint8_t { kBegin, kEnd };

inline constexpr int64_t kSpreadCellNs = 10'000'000;
inline constexpr int64_t kMostSpreadCells = 1'000;

// share: 0 to 1, else taken for the nearer. emit(start_ns, end_ns): not empty, ascending, within
// the stretch; at most kMostSpreadCells + 1. Cells begin at multiples of their length, so that
// different stretches share them.
template <typename Emit>
void SpreadShare(int64_t start_ns, int64_t end_ns, double share, CellSide side, const Emit& emit) {
  if (start_ns >= end_ns || !(share > 0)) return;
  const int64_t cell_ns = std::max(kSpreadCellNs, (end_ns - start_ns) / kMostSpreadCells);
  for (int64_t begin_ns = start_ns; begin_ns < end_ns;) {
    const int64_t cell_end_ns = std::min(end_ns, (begin_ns / cell_ns + 1) * cell_ns);
    const auto length_ns = static_cast<double>(cell_end_ns - begin_ns);
    const auto part_ns = static_cast<int64_t>(std::min(1.0, share) * length_ns + 0.5);
    const bool at_begin = side == CellSide::kBegin;
    if (part_ns > 0 && at_begin) emit(begin_ns, begin_ns + part_ns);
    if (part_ns > 0 && !at_begin) emit(cell_end_ns - part_ns, cell_end_ns);
    begin_ns = cell_end_ns;
  }
}

}  // namespace eroica

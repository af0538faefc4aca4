#include "diagnosis/link_matrix/link_cells.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>

#include "diagnosis/robust_statistics.h"

namespace eroica {
namespace {

constexpr size_t kFewestAlike = 4;    // cells that a cell is judged against, itself among them
constexpr double kSameAmount = 1.25;  // from one cell to the next larger

auto KindOf(const CrossRankView& view, const LinkCell& cell) {
  return std::tuple(cell.resource, view.ranks()[cell.source].role, view.ranks()[cell.destination].role);
}

void Compare(std::span<LinkCell> alike) {
  if (alike.size() < kFewestAlike) return;
  std::vector<double> speeds;
  for (const LinkCell& cell : alike) speeds.push_back(cell.speed());
  const MedianAndMad statistics = TakeMedianAndMad(std::span(speeds));
  for (LinkCell& cell : alike) {
    cell.peers_speed = statistics.median;
    cell.peers_spread = statistics.mad;
    cell.peers = static_cast<uint32_t>(alike.size() - 1);
  }
}

std::vector<LinkCell> CollectCells(const CrossRankView& view) {
  std::vector<LinkCell> cells;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    for (const ConnectionPattern& connection : view.ranks()[i].batch->connections) {
      const RankView* peer = view.FindRank(RankId{connection.peer});
      if (peer == nullptr || connection.bytes == 0 || connection.busy_ns <= 0) continue;
      cells.push_back({.source = i,
                       .destination = static_cast<RankIndex>(peer - view.ranks().data()),
                       .resource = connection.resource,
                       .bytes = connection.bytes,
                       .busy_ns = connection.busy_ns});
    }
  }
  return cells;
}

}  // namespace

std::vector<LinkCell> MeasureLinks(const CrossRankView& view) {
  std::vector<LinkCell> cells = CollectCells(view);
  std::sort(cells.begin(), cells.end(), [&](const LinkCell& a, const LinkCell& b) {
    return std::tuple(KindOf(view, a), a.bytes, a.source, a.destination) < std::tuple(KindOf(view, b), b.bytes, b.source, b.destination);
  });
  for (size_t first = 0; first < cells.size();) {
    size_t last = first + 1;
    while (last < cells.size() && KindOf(view, cells[last]) == KindOf(view, cells[first]) &&
           static_cast<double>(cells[last].bytes) <= kSameAmount * static_cast<double>(cells[last - 1].bytes)) {
      ++last;
    }
    Compare(std::span(cells).subspan(first, last - first));
    first = last;
  }
  std::sort(cells.begin(), cells.end(), [](const LinkCell& a, const LinkCell& b) {
    return std::tuple(a.resource, a.source, a.destination) < std::tuple(b.resource, b.source, b.destination);
  });
  return cells;
}

}  // namespace eroica

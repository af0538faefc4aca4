#include "diagnosis/pipeline_depth.h"

#include <algorithm>
#include <map>
#include <utility>

namespace eroica {
namespace {

// Pairs that exchange less than this share of what the busiest pair of the graph exchanges are no pipeline traffic (a stray control message).
constexpr double kEdgeFloor = 0.05;
// Interleaved schedules send from the last stage to the first, too, but less often than between other stages: of v model chunks a rank, v - 1 go on there.
// Without these edges the ring is a path.
constexpr double kWrapAroundCeiling = 0.9;

// Undirected, by rank number, whether the rank is known to the view or not; the weight is the number of messages.
using Edges = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;
using Neighbours = std::map<uint32_t, std::vector<uint32_t>>;

Edges EdgesOf(const CollectiveSummary& summary) {
  Edges edges;
  for (const PairSummary& pair : summary.pairs) {
    if (pair.source == pair.destination) continue;
    edges[std::minmax(pair.source.value, pair.destination.value)] += pair.count + pair.unmatched;
  }
  return edges;
}

Neighbours NeighboursOf(const Edges& edges, double floor) {
  uint64_t busiest = 0;
  for (const auto& [ends, weight] : edges) busiest = std::max(busiest, weight);
  Neighbours neighbours;
  for (const auto& [ends, weight] : edges) {
    if (weight == 0 || static_cast<double>(weight) < floor * static_cast<double>(busiest)) continue;
    neighbours[ends.first].push_back(ends.second);
    neighbours[ends.second].push_back(ends.first);
  }
  return neighbours;
}

// The paths among the graph's components, each from the end with the smaller rank to the other. Rings and branching components are none.
void AppendPaths(const Neighbours& neighbours, std::vector<std::vector<uint32_t>>* paths) {
  for (const auto& [start, around] : neighbours) {
    if (around.size() != 1) continue;
    std::vector<uint32_t> path{start};
    uint32_t previous = start;
    uint32_t at = around.front();
    bool is_path = true;
    while (true) {
      path.push_back(at);
      const auto& next = neighbours.at(at);
      if (next.size() == 1) break;
      if (next.size() > 2) {
        is_path = false;
        break;
      }
      const uint32_t onward = next[0] == previous ? next[1] : next[0];
      previous = at;
      at = onward;
    }
    if (is_path && path.front() < path.back()) paths->push_back(std::move(path));
  }
}

std::vector<std::vector<uint32_t>> AllPaths(std::span<const CollectiveSummary> summaries) {
  std::vector<std::vector<uint32_t>> paths;
  Edges links;  // communicators of one pair each: together they may be the pipeline
  for (const CollectiveSummary& summary : summaries) {
    if (summary.pairs.empty()) continue;
    const Edges edges = EdgesOf(summary);
    if (edges.size() == 1) {
      links[edges.begin()->first] += edges.begin()->second;
    } else {
      const size_t before = paths.size();
      AppendPaths(NeighboursOf(edges, kEdgeFloor), &paths);
      if (paths.size() == before) AppendPaths(NeighboursOf(edges, kWrapAroundCeiling), &paths);
    }
  }
  const size_t before = paths.size();
  AppendPaths(NeighboursOf(links, kEdgeFloor), &paths);
  if (paths.size() == before) AppendPaths(NeighboursOf(links, kWrapAroundCeiling), &paths);
  return paths;
}

// The length that more than half of the ranks on paths share; 0 where there is none.
size_t CommonLength(const std::vector<std::vector<uint32_t>>& paths) {
  std::map<size_t, size_t> ranks_by_length;
  size_t total = 0;
  for (const auto& path : paths) {
    ranks_by_length[path.size()] += path.size();
    total += path.size();
  }
  for (const auto& [length, count] : ranks_by_length) {
    if (2 * count > total) return length;
  }
  return 0;
}

}  // namespace

std::vector<int32_t> PipelineDepths(std::span<const RankId> ranks, std::span<const CollectiveSummary> summaries) {
  std::vector<int32_t> depths(ranks.size(), kUnknownDepth);
  const auto paths = AllPaths(summaries);
  const size_t length = CommonLength(paths);
  if (length == 0) return depths;
  for (const auto& path : paths) {
    if (path.size() != length) continue;
    for (size_t i = 0; i < path.size(); ++i) {
      const auto it = std::lower_bound(ranks.begin(), ranks.end(), RankId{path[i]});
      if (it != ranks.end() && it->value == path[i]) depths[static_cast<size_t>(it - ranks.begin())] = static_cast<int32_t>(i);
    }
  }
  return depths;
}

}  // namespace eroica

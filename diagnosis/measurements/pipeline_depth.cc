#include "diagnosis/measurements/pipeline_depth.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

// Pairs that exchange less than this share of what the busiest pair of the graph exchanges are no
// pipeline traffic (a stray control message).
constexpr double kEdgeFloor = 0.05;
// Interleaved schedules send from the last stage to the first, too, but less often than between
// other stages: of v model chunks a rank, v - 1 go on there. Without this edge the ring is a path.
constexpr double kWrapAroundCeiling = 0.9;  // of the ring's other edges

// Undirected, by rank number, whether the rank is known to the view or not; the weight is the
// number of messages.
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

Neighbours NeighboursOf(const Edges& edges) {
  uint64_t busiest = 0;
  for (const auto& [ends, weight] : edges) busiest = std::max(busiest, weight);
  Neighbours neighbours;
  for (const auto& [ends, weight] : edges) {
    if (weight == 0 || static_cast<double>(weight) < kEdgeFloor * static_cast<double>(busiest))
      continue;
    neighbours[ends.first].push_back(ends.second);
    neighbours[ends.second].push_back(ends.first);
  }
  return neighbours;
}

// Over the first of the rank's neighbors on, while there is one way only and nobody was there; ends
// with the start again where it is a ring.
std::vector<uint32_t> Walk(const Neighbours& neighbours, uint32_t start, std::set<uint32_t>& seen) {
  std::vector<uint32_t> walk{start};
  uint32_t previous = start;
  uint32_t at = neighbours.at(start).front();
  while (true) {
    walk.push_back(at);
    const std::vector<uint32_t>& next = neighbours.at(at);
    if (!seen.insert(at).second || next.size() != 2 || at == start) return walk;
    const uint32_t onward = next[0] == previous ? next[1] : next[0];
    previous = at;
    at = onward;
  }
}

// The ring without the edge that is weaker than most. Frameworks number the stages upwards, so that
// the edge from the largest rank to the smallest is looked at first: where messages were lost, any
// edge may be weak. `ring` starts with its smallest rank and ends with it again. Empty where no
// edge is weak.
std::vector<uint32_t> CutRing(const Edges& edges, std::vector<uint32_t> ring) {
  std::vector<double> weights;  // [i]: between ring[i] and ring[i + 1]
  for (size_t i = 0; i + 1 < ring.size(); ++i)
    weights.push_back(static_cast<double>(edges.at(std::minmax(ring[i], ring[i + 1]))));
  const auto is_weak = [&weights](size_t edge) {
    std::vector<double> others = weights;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(edge));
    return weights[edge] <= kWrapAroundCeiling * Median(std::span(others));
  };
  ring.pop_back();
  const uint32_t largest = *std::ranges::max_element(ring);
  size_t cut = weights.size() - 1;
  if (ring[1] == largest) cut = 0;
  const bool wraps_around = ring[1] == largest || ring.back() == largest;
  if (!wraps_around || !is_weak(cut))
    cut = static_cast<size_t>(std::ranges::min_element(weights) - weights.begin());
  if (!is_weak(cut)) return {};
  std::ranges::rotate(ring, ring.begin() + static_cast<std::ptrdiff_t>((cut + 1) % ring.size()));
  if (ring.front() > ring.back()) std::ranges::reverse(ring);
  return ring;
}

// The paths among the graph's components, each from the end with the smaller rank to the other, and
// the rings with one weaker edge. Others branch, and are none.
void AppendPaths(const Edges& edges, std::vector<std::vector<uint32_t>>* paths) {
  constexpr size_t kSmallestRing = 3;
  const Neighbours neighbours = NeighboursOf(edges);
  std::set<uint32_t> seen;
  for (const auto& [start, around] : neighbours) {
    if (around.size() != 1 || seen.contains(start)) continue;
    std::vector<uint32_t> walk = Walk(neighbours, start, seen);
    if (neighbours.at(walk.back()).size() == 1) paths->push_back(std::move(walk));
  }
  for (const auto& [start, around] : neighbours) {
    if (around.size() != 2 || seen.contains(start)) continue;
    std::vector<uint32_t> walk = Walk(neighbours, start, seen);
    if (walk.back() != start || walk.size() <= kSmallestRing) continue;
    if (std::vector<uint32_t> path = CutRing(edges, std::move(walk)); !path.empty())
      paths->push_back(std::move(path));
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
      AppendPaths(edges, &paths);
    }
  }
  AppendPaths(links, &paths);
  return paths;
}

struct CommonLength {
  size_t length = 0;   // 0: there is none
  size_t paths = 0;    // that have it
  size_t longest = 0;  // of all paths
};

// That more than half of the ranks on paths share.
CommonLength CommonLengthOf(const std::vector<std::vector<uint32_t>>& paths) {
  CommonLength common;
  std::map<size_t, size_t> paths_by_length;
  size_t total = 0;
  for (const auto& path : paths) {
    ++paths_by_length[path.size()];
    total += path.size();
    common.longest = std::max(common.longest, path.size());
  }
  for (const auto& [length, count] : paths_by_length) {
    if (2 * length * count > total)
      common = {.length = length, .paths = count, .longest = common.longest};
  }
  return common;
}

bool MayBePieces(const std::vector<std::vector<uint32_t>>& paths, const CommonLength& common) {
  constexpr size_t kShortestPiece = 3;  // two ranks may have sent each other a stray message
  return common.longest >= kShortestPiece && common.paths < std::min<size_t>(2, paths.size());
}

}  // namespace

PipelineDepths ReadPipelineDepths(std::span<const RankId> ranks,
                                  std::span<const CollectiveSummary> summaries) {
  PipelineDepths depths{.of_ranks = std::vector<int32_t>(ranks.size(), kUnknownDepth)};
  const auto paths = AllPaths(summaries);
  const CommonLength common = CommonLengthOf(paths);
  depths.may_be_pieces = MayBePieces(paths, common);
  for (const auto& path : paths) {
    if (path.size() != common.length) continue;
    for (size_t i = 0; i < path.size(); ++i) {
      const auto it = std::lower_bound(ranks.begin(), ranks.end(), RankId{path[i]});
      if (it != ranks.end() && it->value == path[i])
        depths.of_ranks[static_cast<size_t>(it - ranks.begin())] = static_cast<int32_t>(i);
    }
  }
  return depths;
}

}  // namespace eroica

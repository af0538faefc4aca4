#include "diagnosis/link_matrix/other_traffic.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnosis/link_matrix/hot_spots.h"
#include "diagnosis/link_matrix/speed_groups.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

// Cells of one kind.
class Kind {
 public:
  void Add(const CrossRankView& view, LinkCell& cell) {
    cells_.push_back(&cell);
    hosts_.insert(view.ranks()[cell.source].batch->host);
    hosts_.insert(view.ranks()[cell.destination].batch->host);
    pairs_ = pairs_ && sources_.insert(cell.source).second &&
             destinations_.insert(cell.destination).second;
    slowest_ = cells_.size() == 1 ? cell.speed() : std::min(slowest_, cell.speed());
    fastest_ = std::max(fastest_, cell.speed());
  }
  // Who shares a port with others of the kind is slower for it.
  bool IsOneOfAKind() const {
    return hosts_.size() == 2 && pairs_ && slowest_ >= kSlowShare * fastest_;
  }
  // Each of its cells has an end at one of the ranks: where these are cut off from others it may be
  // slow as a whole.
  bool IsOf(const std::set<RankIndex>& ranks) const {
    return std::ranges::all_of(cells_, [&](const LinkCell* cell) {
      return ranks.contains(cell->source) || ranks.contains(cell->destination);
    });
  }
  const std::vector<LinkCell*>& cells() const { return cells_; }

 private:
  std::vector<LinkCell*> cells_;
  std::set<std::string_view> hosts_;
  std::set<RankIndex> sources_;
  std::set<RankIndex> destinations_;
  bool pairs_ = true;  // no rank sends to two, or receives from two
  double slowest_ = 0;
  double fastest_ = 0;
};

// Ranks that send or receive something slowly, compared with its peers.
std::set<RankIndex> RanksWithSlowTraffic(std::span<const LinkCell> cells) {
  std::set<RankIndex> ranks;
  for (const LinkCell& cell : cells) {
    if (cell.resource == Resource::kNic && IsSlow(cell, {}))
      ranks.insert({cell.source, cell.destination});
  }
  return ranks;
}

struct OtherTraffic {
  std::vector<double> out;  // port speeds
  std::vector<double> in;
};

OtherTraffic TrafficBeside(const LinkCell& cell, std::span<const LinkCell> cells) {
  OtherTraffic beside;
  for (const LinkCell& other : cells) {
    if (other.resource != Resource::kNic || other.kind == cell.kind || other.channels == 0)
      continue;
    // while it is well
    const double port_speed = other.channels * std::max(other.speed(), other.peers_speed);
    if (other.source == cell.source) beside.out.push_back(port_speed);
    if (other.destination == cell.destination) beside.in.push_back(port_speed);
  }
  return beside;
}

void Compare(LinkCell& cell, std::span<const LinkCell> cells) {
  OtherTraffic beside = TrafficBeside(cell, cells);
  if (beside.out.empty() || beside.in.empty()) return;
  const auto others = static_cast<uint32_t>(beside.out.size() + beside.in.size());
  const double port_speed = std::min(Median(std::span(beside.out)), Median(std::span(beside.in)));
  if (cell.port_speed() > kMuchSlower * port_speed) return;
  cell.peers_speed = port_speed / cell.channels;
  cell.peers_spread = kFewSpread;
  cell.peers = others;
}

}  // namespace

void CompareWithOtherTraffic(const CrossRankView& view, std::span<LinkCell> cells) {
  std::map<uint32_t, Kind> kinds;
  for (LinkCell& cell : cells) {
    if (cell.resource == Resource::kNic && cell.communicator != CommId{} && cell.channels > 0)
      kinds[cell.kind].Add(view, cell);
  }
  const std::set<RankIndex> slow = RanksWithSlowTraffic(cells);
  for (const auto& [number, kind] : kinds) {
    if (!kind.IsOneOfAKind() && !kind.IsOf(slow)) continue;
    for (LinkCell* cell : kind.cells()) Compare(*cell, cells);
  }
}

}  // namespace eroica

#include "diagnosis/link_matrix/hot_spots.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace eroica {
namespace {

bool IsHot(const LinkCell& cell, double window_ns, const HotSpotOptions& options) {
  if (cell.peers_speed <= 0 || cell.speed() > options.slow_share * cell.peers_speed) return false;
  if (cell.peers_speed - cell.speed() < options.min_deviations * cell.peers_spread) return false;
  return cell.excess_ns() >= options.min_share_of_step * window_ns;
}

// The matrix of one resource: what is hot of all that leaves and enters each place (a rank or a host).
template <typename Place>
class HotMatrix {
 public:
  struct Sums {
    uint32_t out = 0;
    uint32_t out_hot = 0;
    uint32_t in = 0;
    uint32_t in_hot = 0;
    bool OutIsHot(double whole) const { return out_hot > 0 && out_hot >= whole * out; }
    bool InIsHot(double whole) const { return in_hot > 0 && in_hot >= whole * in; }
  };
  void Add(const Place& source, const Place& destination, bool hot) {
    Sums& from = sums_[source];
    Sums& to = sums_[destination];
    ++from.out;
    ++to.in;
    from.out_hot += hot ? 1 : 0;
    to.in_hot += hot ? 1 : 0;
  }
  const Sums& operator[](const Place& place) const { return sums_.at(place); }
  const std::map<Place, Sums>& sums() const { return sums_; }

 private:
  std::map<Place, Sums> sums_;
};

class Search {
 public:
  Search(const CrossRankView& view, Resource resource, const HotSpotOptions& options)
      : view_(view), resource_(resource), options_(options) {}

  void Add(const LinkCell& cell, bool hot) {
    ranks_.Add(cell.source, cell.destination, hot);
    if (HostOf(cell.source) != HostOf(cell.destination)) hosts_.Add(HostOf(cell.source), HostOf(cell.destination), hot);
    if (hot) hot_.push_back(&cell);
  }

  std::vector<HotSpot> Run() {
    TakeHosts();
    TakeRanks();
    TakePaths();
    return std::move(spots_);
  }

 private:
  // What is left: cells between the same two hosts share their path.
  void TakePaths() {
    while (!hot_.empty()) {
      const LinkCell& first = *hot_.front();
      const std::string_view from = HostOf(first.source);
      const std::string_view to = HostOf(first.destination);
      const bool shared = from != to && !from.empty() && !to.empty();
      Take(HotSpotKind::kLink, {}, [&](const LinkCell& cell) {
        return &cell == &first || (shared && HostOf(cell.source) == from && HostOf(cell.destination) == to);
      });
      HotSpot& spot = spots_.back();
      spot.ranks = {spot.cells.front()->source};
      spot.destination = spot.cells.front()->destination;
    }
  }

  std::string_view HostOf(RankIndex rank) const { return view_.ranks()[rank].batch->host; }

  // Takes the hot cells that the filter picks into a spot of their own; nothing where it picks none.
  template <typename Filter>
  void Take(HotSpotKind kind, std::vector<RankIndex> ranks, Filter filter) {
    HotSpot spot{.kind = kind, .resource = resource_, .ranks = std::move(ranks)};
    std::erase_if(hot_, [&](const LinkCell* cell) {
      if (!filter(*cell)) return false;
      spot.cells.push_back(cell);
      return true;
    });
    if (spot.cells.empty()) return;
    std::sort(spot.cells.begin(), spot.cells.end(), [](const auto* a, const auto* b) { return a->excess_ns() > b->excess_ns(); });
    spots_.push_back(std::move(spot));
  }

  // A host is hot where what leaves and enters it is, over more than one of its ranks: a single rank's NIC is a better name.
  void TakeHosts() {
    std::set<std::string_view> hot_hosts;
    std::map<std::string_view, std::set<RankIndex>> ranks_of;
    for (const LinkCell* cell : hot_) {
      if (HostOf(cell->source) == HostOf(cell->destination)) continue;
      ranks_of[HostOf(cell->source)].insert(cell->source);
      ranks_of[HostOf(cell->destination)].insert(cell->destination);
    }
    for (const auto& [host, ranks] : ranks_of) {
      const auto& sums = hosts_[host];
      const bool whole = sums.OutIsHot(options_.whole) && sums.InIsHot(options_.whole);
      if (!host.empty() && ranks.size() > 1 && whole) hot_hosts.insert(host);
    }
    if (hot_hosts.empty()) return;
    std::vector<RankIndex> one_of_each;
    for (const std::string_view host : hot_hosts) one_of_each.push_back(*ranks_of[host].begin());
    Take(HotSpotKind::kHosts, one_of_each,
         [&](const LinkCell& cell) { return hot_hosts.contains(HostOf(cell.source)) || hot_hosts.contains(HostOf(cell.destination)); });
  }

  void TakeRanks() {
    std::vector<RankIndex> order;
    for (const auto& [rank, sums] : ranks_.sums()) {
      if (sums.out_hot + sums.in_hot >= 2) order.push_back(rank);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](RankIndex a, RankIndex b) { return ranks_[a].out_hot + ranks_[a].in_hot > ranks_[b].out_hot + ranks_[b].in_hot; });
    for (const RankIndex rank : order) {
      const auto& sums = ranks_[rank];
      const bool sends = sums.OutIsHot(options_.whole);
      const bool receives = sums.InIsHot(options_.whole);
      if (sends && receives) {
        Take(HotSpotKind::kRank, {rank}, [&](const LinkCell& cell) { return cell.source == rank || cell.destination == rank; });
      } else if (sends && sums.out_hot >= 2) {
        Take(HotSpotKind::kSender, {rank}, [&](const LinkCell& cell) { return cell.source == rank; });
      } else if (receives && sums.in_hot >= 2) {
        Take(HotSpotKind::kReceiver, {rank}, [&](const LinkCell& cell) { return cell.destination == rank; });
      }
    }
  }

  const CrossRankView& view_;
  Resource resource_;
  const HotSpotOptions& options_;
  HotMatrix<RankIndex> ranks_;
  HotMatrix<std::string_view> hosts_;
  std::vector<const LinkCell*> hot_;
  std::vector<HotSpot> spots_;
};

}  // namespace

std::vector<HotSpot> FindHotSpots(const CrossRankView& view, std::span<const LinkCell> cells, double window_ns,
                                  const HotSpotOptions& options) {
  std::vector<HotSpot> spots;
  for (size_t first = 0; first < cells.size();) {
    Search search(view, cells[first].resource, options);
    size_t last = first;
    for (; last < cells.size() && cells[last].resource == cells[first].resource; ++last) {
      search.Add(cells[last], IsHot(cells[last], window_ns, options));
    }
    std::vector<HotSpot> found = search.Run();
    spots.insert(spots.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    first = last;
  }
  std::stable_sort(spots.begin(), spots.end(),
                   [](const HotSpot& a, const HotSpot& b) { return a.cells.front()->excess_ns() > b.cells.front()->excess_ns(); });
  return spots;
}

}  // namespace eroica

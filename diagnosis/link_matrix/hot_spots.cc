#include "diagnosis/link_matrix/hot_spots.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "diagnosis/link_matrix/crowded_ports.h"
#include "diagnosis/link_matrix/host_groups.h"
#include "diagnosis/link_matrix/link_ends.h"
#include "diagnosis/link_matrix/slow_share.h"
#include "diagnosis/measurements/host_ranks.h"
#include "diagnosis/measurements/starvation.h"

namespace eroica {
namespace {

// More links than these that have nothing in common are one finding.
constexpr size_t kMostLinks = 2;
// Two ranks of a host are equally slow, or they are not.
constexpr double kSameSpeed = 0.9;
// Of one NIC's usual speed: what ranks that share it reach together, whoever of them has the larger
// part. The longer way takes something off it; and usual flows leave a fifth of a NIC free.
constexpr double kLeastOfOneNic = 0.7;
constexpr double kMostOfOneNic = 1.25;

// Cells of one domain: what leaves hosts, or what stays within them.
class Search {
 public:
  Search(const CrossRankView& view, double window_ns, const HotSpotOptions& options)
      : view_(view), window_ns_(window_ns), options_(options) {}

  void Add(const LinkCell& cell) {
    if (cell.peers_speed <= 0) return;
    const bool slow = IsSlow(cell, options_);
    judged_.push_back(&cell);
    if (slow) slow_.push_back(&cell);
    ranks_.Add(cell.source, cell.destination, cell.bytes, slow);
    const auto [from, to] = HostsOf(cell);
    if (from == to || from.empty() || to.empty()) return;
    hosts_.Add(from, to, cell.bytes, slow);
    host_ways_[{from, to}].Add(cell.bytes, slow);
    SlowShare::Way& pair = host_pairs_[std::minmax(from, to)];
    pair.Add(cell.bytes, slow);
  }

  std::vector<HotSpot> Run() {
    const size_t all_slow = slow_.size();
    if (all_slow == 0) return {};
    TakeHosts();
    TakePath();
    TakeHostPairs();
    TakeRanks();
    MergeRanksOfHosts();
    TakeLinks();
    std::erase_if(spots_, [this](const HotSpot& spot) { return !IsCostly(spot); });
    MergeScattered();
    // Where most is slow and nothing explains all of it, the network is so.
    const bool explained = spots_.size() == 1 && spots_.front().kind != HotSpotKind::kScattered;
    if (2 * all_slow > judged_.size() && !explained) spots_.clear();
    return std::move(spots_);
  }

 private:
  std::string_view HostOf(RankIndex rank) const { return view_.ranks()[rank].batch->host; }
  std::pair<std::string_view, std::string_view> HostsOf(const LinkCell& cell) const {
    return {HostOf(cell.source), HostOf(cell.destination)};
  }
  bool IsCostly(const HotSpot& spot) const {
    // of what two ranks exchange in all communicators
    std::map<std::pair<RankIndex, RankIndex>, double> excess_ns;
    for (const LinkCell* cell : spot.cells)
      excess_ns[{cell->source, cell->destination}] += cell->excess_ns();
    return std::any_of(excess_ns.begin(), excess_ns.end(), [this](const auto& pair) {
      return pair.second >= options_.min_share_of_step * window_ns_;
    });
  }

  // Takes the slow cells that the filter picks into a spot of their own; nothing where it picks
  // none.
  template <typename Filter>
  void Take(HotSpotKind kind, std::vector<RankIndex> ranks, Filter filter) {
    HotSpot spot{.kind = kind, .ranks = std::move(ranks)};
    std::erase_if(slow_, [&](const LinkCell* cell) {
      if (!filter(*cell)) return false;
      spot.cells.push_back(cell);
      return true;
    });
    if (spot.cells.empty()) return;
    WorstFirst(spot);
    spots_.push_back(std::move(spot));
  }

  static void WorstFirst(HotSpot& spot) {
    std::stable_sort(spot.cells.begin(), spot.cells.end(),
                     [](const auto* a, const auto* b) { return a->excess_ns() > b->excess_ns(); });
    spot.resource = spot.cells.front()->resource;
  }

  std::vector<RankIndex> OneOfEach(const std::set<std::string_view>& hosts) const {
    std::map<std::string_view, RankIndex> first;
    for (RankIndex i = 0; i < view_.ranks().size(); ++i) {
      if (hosts.contains(HostOf(i))) first.try_emplace(HostOf(i), i);
    }
    std::vector<RankIndex> ranks;
    for (const auto& [host, rank] : first) ranks.push_back(rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  // A host is hot where what leaves and enters it is, over more than one of its ranks, to more than
  // one other host: a single rank's NIC is a better name, and so is the path between two hosts.
  // More than half of the hosts are no exception.
  void TakeHosts() {
    std::map<std::string_view, std::set<RankIndex>> ranks_of;
    std::map<std::string_view, std::set<std::string_view>> others_of;
    for (const LinkCell* cell : slow_) {
      const auto [from, to] = HostsOf(*cell);
      if (from == to || from.empty() || to.empty()) continue;
      ranks_of[from].insert(cell->source);
      ranks_of[to].insert(cell->destination);
      others_of[from].insert(to);
      others_of[to].insert(from);
    }
    std::set<std::string_view> hot;
    for (const auto& [host, ranks] : ranks_of) {
      const bool whole =
          hosts_[host].out.IsSlow(options_.whole) && hosts_[host].in.IsSlow(options_.whole);
      if (ranks.size() > 1 && others_of[host].size() > 1 && whole) hot.insert(host);
    }
    if (hot.empty() || 2 * hot.size() > hosts_.size()) return;
    Take(HotSpotKind::kHosts, OneOfEach(hot), [&](const LinkCell& cell) {
      const auto [from, to] = HostsOf(cell);
      return from != to && (hot.contains(from) || hot.contains(to));
    });
  }

  // Without pairs that are well only by the standard of what the same hosts exchange: where all of
  // a kind has an end at hosts that exchange something else slowly, such as the embeddings of the
  // first stage, it may be slow as a whole.
  std::vector<HostPair> WithoutUnknown(const std::vector<HostPair>& pairs) const {
    std::set<std::string_view> slow_hosts;
    for (const HostPair& pair : pairs) {
      if (pair.slow) slow_hosts.insert({pair.one, pair.other});
    }
    std::set<uint32_t> known;  // kinds that other hosts exchange, too
    for (const LinkCell* cell : judged_) {
      const auto [from, to] = HostsOf(*cell);
      if (!slow_hosts.contains(from) && !slow_hosts.contains(to)) known.insert(cell->kind);
    }
    std::set<std::pair<std::string_view, std::string_view>> known_pairs;
    for (const LinkCell* cell : judged_) {
      if (known.contains(cell->kind))
        known_pairs.insert(std::minmax(HostOf(cell->source), HostOf(cell->destination)));
    }
    std::vector<HostPair> left;
    std::ranges::copy_if(pairs, std::back_inserter(left), [&](const HostPair& pair) {
      return pair.slow || known_pairs.contains({pair.one, pair.other});
    });
    return left;
  }

  // What is left and lies between two groups of hosts, of which each is well within.
  void TakePath() {
    std::set<std::pair<std::string_view, std::string_view>> taken;
    for (const HotSpot& spot : spots_) {
      for (const LinkCell* cell : spot.cells) {
        const auto [from, to] = HostsOf(*cell);
        taken.insert(std::minmax(from, to));
      }
    }
    std::vector<HostPair> pairs;
    for (const auto& [hosts, way] : host_pairs_) {
      if (!taken.contains(hosts))
        pairs.push_back({hosts.first, hosts.second, way.IsSlow(1 - options_.whole)});
    }
    std::vector<std::string_view> order;
    std::unordered_set<std::string_view> seen;
    for (const RankView& rank : view_.ranks()) {
      if (seen.insert(rank.batch->host).second) order.push_back(rank.batch->host);
    }
    std::set<std::string_view> side = FindSlowSide(pairs, order);
    if (side.empty()) side = FindSlowSide(WithoutUnknown(pairs), order);
    if (side.empty()) return;
    Take(HotSpotKind::kPath, OneOfEach(side), [&](const LinkCell& cell) {
      const auto [from, to] = HostsOf(cell);
      return side.contains(from) != side.contains(to);
    });
    if (!spots_.empty() && spots_.back().kind == HotSpotKind::kPath) {
      spots_.back().other_hosts = static_cast<uint32_t>(order.size() - side.size());
    }
  }

  // All that one host sends another, from several ranks to several: their path is one fault, as
  // many NICs would be many.
  void TakeHostPairs() {
    constexpr size_t kSeveral = 3;
    std::map<std::pair<std::string_view, std::string_view>,
             std::pair<std::set<RankIndex>, std::set<RankIndex>>>
        ends_of;
    // hosts that a host exchanges slowly with
    std::map<std::string_view, std::set<std::string_view>> others_of;
    for (const LinkCell* cell : slow_) {
      const auto hosts = HostsOf(*cell);
      if (hosts.first == hosts.second || hosts.first.empty() || hosts.second.empty()) continue;
      ends_of[hosts].first.insert(cell->source);
      ends_of[hosts].second.insert(cell->destination);
      others_of[hosts.first].insert(hosts.second);
      others_of[hosts.second].insert(hosts.first);
    }
    for (const auto& [hosts, ends] : ends_of) {
      const bool several = ends.first.size() >= kSeveral && ends.second.size() >= kSeveral;
      const bool alone = others_of[hosts.first].size() == 1 && others_of[hosts.second].size() == 1;
      if (several && alone && host_ways_[hosts].IsSlow(options_.whole)) TakeLink(hosts);
    }
  }

  struct Ends {
    std::set<RankIndex> out;  // ranks that it sends to slowly
    std::set<RankIndex> in;   // and from which it receives slowly
    size_t count = 0;         // such cells
    size_t others() const {
      std::set<RankIndex> all = out;
      all.insert(in.begin(), in.end());
      return all.size();
    }
  };

  // A rank is to blame only where what is slow has two other ends at least: else it may be these,
  // or the path.
  void TakeRanks() {
    std::map<RankIndex, Ends> all = EndsOfSlow();
    std::vector<RankIndex> order;
    for (const auto& [rank, ends] : all) {
      if (ends.others() >= 2) order.push_back(rank);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](RankIndex a, RankIndex b) { return all[a].count > all[b].count; });
    for (const RankIndex rank : order) {
      const Ends left = EndsOfSlow()[rank];
      if (left.others() < 2) continue;
      const bool sends = !left.out.empty() && ranks_[rank].out.IsSlow(options_.whole);
      const bool receives = !left.in.empty() && ranks_[rank].in.IsSlow(options_.whole);
      if (sends && receives) {
        Take(HotSpotKind::kRank, {rank}, [rank](const LinkCell& cell) {
          return cell.source == rank || cell.destination == rank;
        });
      } else if (sends && left.out.size() >= 2) {
        Take(HotSpotKind::kSender, {rank},
             [rank](const LinkCell& cell) { return cell.source == rank; });
      } else if (receives && left.in.size() >= 2) {
        Take(HotSpotKind::kReceiver, {rank},
             [rank](const LinkCell& cell) { return cell.destination == rank; });
      }
    }
  }

  std::map<RankIndex, Ends> EndsOfSlow() const {
    std::map<RankIndex, Ends> ends;
    for (const LinkCell* cell : slow_) {
      ends[cell->source].out.insert(cell->destination);
      ends[cell->destination].in.insert(cell->source);
      ++ends[cell->source].count;
      ++ends[cell->destination].count;
    }
    return ends;
  }

  // Ranks of one host whose NICs are equally slow share what is slow. Of two that differ and
  // together reach one NIC's speed, the slower one has lost its own: its data takes the longer way,
  // over the other's. That two NICs of a host fail in one window, each for a reason of its own, is
  // so much less likely.
  void MergeRanksOfHosts() {
    if (view_.hosts().size() == 1)
      return;  // no NICs lie between the ranks of a job on one host, however they exchange data
    std::map<std::string_view, std::vector<HotSpot>> by_host;
    std::vector<HotSpot> kept;
    for (HotSpot& spot : spots_) {
      const bool nic = spot.kind == HotSpotKind::kRank && spot.resource == Resource::kNic &&
                       !HostOf(spot.ranks.front()).empty();
      (nic ? by_host[HostOf(spot.ranks.front())] : kept).push_back(std::move(spot));
    }
    for (auto& [host, spots] : by_host) {
      if (spots.size() > 1) MergeRanksOfHost(spots);
      std::move(spots.begin(), spots.end(), std::back_inserter(kept));
    }
    spots_ = std::move(kept);
  }

  void MergeRanksOfHost(std::vector<HotSpot>& spots) const {
    const auto speed = [](const HotSpot& spot) { return spot.cells.front()->speed(); };
    std::stable_sort(spots.begin(), spots.end(),
                     [&](const HotSpot& a, const HotSpot& b) { return speed(a) < speed(b); });
    const bool equal = speed(spots.front()) >= kSameSpeed * speed(spots.back());
    if (!equal && (spots.size() != 2 || !ShareOneNic(spots.front(), spots.back()))) return;
    HotSpot merged = std::move(spots.front());
    merged.kind = HotSpotKind::kSharedNic;
    for (size_t i = 1; i < spots.size(); ++i) {
      if (equal) merged.ranks.push_back(spots[i].ranks.front());
      merged.cells.insert(merged.cells.end(), spots[i].cells.begin(), spots[i].cells.end());
    }
    std::sort(merged.ranks.begin(), merged.ranks.end());
    WorstFirst(merged);
    spots.clear();
    spots.push_back(std::move(merged));
  }

  static bool ShareOneNic(const HotSpot& slower, const HotSpot& faster) {
    const auto share_of_speed = [](const HotSpot& spot) {
      const LinkCell& worst = *spot.cells.front();
      return worst.speed() / worst.peers_speed;
    };
    const double together = share_of_speed(slower) + share_of_speed(faster);
    return together >= kLeastOfOneNic && together <= kMostOfOneNic;
  }

  // What is left: cells between the same two hosts share their path, those within a host have two
  // ends.
  void TakeLinks() {
    while (!slow_.empty()) {
      const LinkCell& first = *slow_.front();
      const auto hosts = HostsOf(first);
      if (hosts.first != hosts.second && !hosts.first.empty() && !hosts.second.empty()) {
        TakeLink(hosts);
        continue;
      }
      Take(HotSpotKind::kLink, {}, [&](const LinkCell& cell) {
        return std::minmax(cell.source, cell.destination) ==
               std::minmax(first.source, first.destination);
      });
      NameLink(spots_.back());
    }
  }

  // What two hosts exchange, in both directions. The names live longer than the cells that are
  // taken.
  void TakeLink(std::pair<std::string_view, std::string_view> hosts) {
    const size_t before = spots_.size();
    Take(HotSpotKind::kLink, {}, [&](const LinkCell& cell) {
      return std::minmax(HostOf(cell.source), HostOf(cell.destination)) ==
             std::minmax(hosts.first, hosts.second);
    });
    if (spots_.size() > before) NameLink(spots_.back());
  }

  void NameLink(HotSpot& spot) const {
    const LinkCell& worst = *spot.cells.front();
    spot.ranks = {worst.source};
    spot.destination = worst.destination;
    for (const LinkCell* cell : judged_) {
      if (IsSlow(*cell, options_)) continue;
      spot.source_cleared = spot.source_cleared || (cell->source == worst.source &&
                                                    cell->destination != worst.destination);
      spot.destination_cleared =
          spot.destination_cleared ||
          (cell->destination == worst.destination && cell->source != worst.source);
    }
  }

  void MergeScattered() {
    const auto links = std::stable_partition(spots_.begin(), spots_.end(), [](const HotSpot& spot) {
      return spot.kind != HotSpotKind::kLink;
    });
    if (static_cast<size_t>(spots_.end() - links) <= kMostLinks) return;
    HotSpot scattered{.kind = HotSpotKind::kScattered};
    for (auto link = links; link != spots_.end(); ++link) {
      scattered.cells.insert(scattered.cells.end(), link->cells.begin(), link->cells.end());
    }
    WorstFirst(scattered);
    spots_.erase(links, spots_.end());
    spots_.push_back(std::move(scattered));
  }

  const CrossRankView& view_;
  const double window_ns_;
  const HotSpotOptions& options_;
  std::vector<const LinkCell*> judged_;
  std::vector<const LinkCell*> slow_;  // not explained yet
  SlowShares<RankIndex> ranks_;
  SlowShares<std::string_view> hosts_;
  std::map<std::pair<std::string_view, std::string_view>, SlowShare::Way> host_pairs_;
  std::map<std::pair<std::string_view, std::string_view>, SlowShare::Way> host_ways_;  // from, to
  std::vector<HotSpot> spots_;
};

// Where sockets carry the data, a connection is busy for as long as its sender or its reader is not
// let run, whatever its path could carry. Links show beyond that.
bool IsOfStarvedEnd(const CrossRankView& view, const LinkCell& cell) {
  const auto starved_ns = [&view](RankIndex rank) { return StarvedNs(*view.ranks()[rank].batch); };
  return cell.excess_ns() <= std::max(starved_ns(cell.source), starved_ns(cell.destination));
}

}  // namespace

bool IsSlow(const LinkCell& cell, const HotSpotOptions& options) {
  if (cell.peers_speed <= 0 || cell.peers + 1 < options.fewest_compared ||
      cell.speed() > options.slow_share * cell.peers_speed)
    return false;
  return std::log(cell.peers_speed / cell.speed()) >=
         SpreadsBeyondNoise(cell.peers + 1) * cell.peers_spread;
}

std::vector<HotSpot> FindHotSpots(const CrossRankView& view, std::span<const LinkCell> cells,
                                  double window_ns, const HotSpotOptions& options) {
  Search network(view, window_ns, options);
  Search inside(view, window_ns, options);
  const CrowdedPorts crowded(cells);
  for (const LinkCell& cell : cells) {
    if (IsSlow(cell, options) && (crowded.Explain(cell) || IsOfStarvedEnd(view, cell))) continue;
    (cell.resource == Resource::kNic ? network : inside).Add(cell);
  }
  std::vector<HotSpot> spots = network.Run();
  std::vector<HotSpot> more = inside.Run();
  spots.insert(spots.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  if (!spots.empty()) {
    const LinkEnds ends(view, cells, options);
    for (HotSpot& spot : spots) ends.Decide(spot);
  }
  std::stable_sort(spots.begin(), spots.end(), [](const HotSpot& a, const HotSpot& b) {
    return a.cells.front()->excess_ns() > b.cells.front()->excess_ns();
  });
  return spots;
}

}  // namespace eroica

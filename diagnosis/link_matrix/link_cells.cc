#include "diagnosis/link_matrix/link_cells.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "diagnosis/link_matrix/other_traffic.h"
#include "diagnosis/link_matrix/speed_groups.h"

namespace eroica {
namespace {

constexpr size_t kFewestCompared = 4;  // cells that a cell is judged against, itself among them
constexpr double kSameAmount = 1.25;   // from one cell to the next larger
// The same where cells are mixtures: of other amounts they are other ones, and as fast as what
// there is more of.
constexpr double kSameMixture = 1.02;
// What carries less in a window is control traffic and acknowledgements: its time is latency, not
// speed.
constexpr uint64_t kLeastBytes = 1 << 20;

auto KindOf(const CrossRankView& view, const LinkCell& cell) {
  const bool one_role = cell.communicator != CommId{} ||
                        view.ranks()[cell.source].role == view.ranks()[cell.destination].role;
  return std::tuple(cell.resource, one_role, cell.kind);
}

void Compare(std::span<LinkCell> similar) {
  if (similar.size() < kFewestCompared) return;
  std::vector<double> speeds;
  for (const LinkCell& cell : similar) speeds.push_back(cell.speed());
  const HealthySpeed healthy = FindHealthySpeed(std::span(speeds));
  for (LinkCell& cell : similar) {
    cell.peers_speed = healthy.speed;
    cell.peers_spread = healthy.spread;
    cell.peers = static_cast<uint32_t>(similar.size() - 1);
  }
}

// The kind of a cell's communicator: its size, and its description where others share it. Where the
// communicator is not known, the sizes of those that both ends are in: what two ranks exchange in
// another group takes other rings. Where no summary of the communicator has come (the window could
// not wait for all of them, or nobody reports any), the number of ranks that list it and the
// channels that it takes: a pipeline's activations are not compared with its embeddings. Numbers,
// equal where these are.
class CommunicatorKinds {
 public:
  explicit CommunicatorKinds(const CrossRankView& view) : view_(view) {
    for (const CollectiveSummary& summary : view.summaries()) {
      if (summary.bytes > 0) moving_.insert(summary.communicator);
      known_[summary.communicator] = {summary.members.size(), summary.communicator_description};
      ++described_[{summary.members.size(), summary.communicator_description}];
    }
  }
  uint32_t Of(const LinkCell& cell) const {
    if (cell.communicator == CommId{}) return NumberOf({SharedSizes(cell), ""});
    if (!known_.contains(cell.communicator))
      return NumberOf({{Listed(cell.communicator), cell.channels}, "?"});
    const auto [kind, fresh] = kinds_.try_emplace(cell.communicator, 0);
    if (fresh) kind->second = KindOf(cell.communicator);
    return kind->second;
  }
  // Of what several communicators moved.
  bool IsMixture(const LinkCell& cell) const {
    const std::vector<CommId> shared = Shared(cell);
    return cell.communicator == CommId{} &&
           std::count_if(shared.begin(), shared.end(),
                         [this](CommId id) { return moving_.contains(id); }) > 1;
  }

 private:
  using Kind = std::pair<std::vector<size_t>, std::string>;

  uint32_t NumberOf(Kind kind) const {
    return numbers_.try_emplace(std::move(kind), static_cast<uint32_t>(numbers_.size()))
        .first->second;
  }

  uint32_t KindOf(CommId communicator) const {
    const auto& kind = known_.at(communicator);
    return NumberOf({{kind.first}, "of " + (described_.at(kind) > 1 ? kind.second : "")});
  }

  // Ranks that list the communicator. Most views need it of none.
  size_t Listed(CommId communicator) const {
    if (!listed_) {
      listed_.emplace();
      for (const RankView& rank : view_.ranks()) {
        for (const CommId listed : rank.batch->communicators) ++(*listed_)[listed];
      }
    }
    const auto found = listed_->find(communicator);
    return found == listed_->end() ? 0 : found->second;
  }

  std::vector<CommId> Shared(const LinkCell& cell) const {
    const std::vector<CommId>& one = view_.ranks()[cell.source].batch->communicators;
    const std::vector<CommId>& other = view_.ranks()[cell.destination].batch->communicators;
    std::vector<CommId> shared;
    std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                          std::back_inserter(shared));
    return shared;
  }
  std::vector<size_t> SharedSizes(const LinkCell& cell) const {
    std::vector<size_t> sizes;
    for (const CommId communicator : Shared(cell)) {
      const auto known = known_.find(communicator);
      sizes.push_back(known == known_.end() ? Listed(communicator) : known->second.first);
    }
    std::sort(sizes.begin(), sizes.end());
    return sizes;
  }

  const CrossRankView& view_;
  std::map<CommId, std::pair<size_t, std::string>> known_;      // size and description
  std::map<std::pair<size_t, std::string>, size_t> described_;  // communicators
  std::set<CommId> moving_;                                     // that have moved data
  mutable std::map<Kind, uint32_t> numbers_;
  mutable std::optional<std::unordered_map<CommId, size_t>> listed_;  // once one is asked for
  mutable std::unordered_map<CommId, uint32_t> kinds_;  // of those that were asked for
};

std::vector<LinkCell> CollectCells(const CrossRankView& view) {
  std::vector<LinkCell> cells;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    for (const ConnectionPattern& connection : view.ranks()[i].batch->connections) {
      const RankView* peer = view.FindRank(RankId{connection.peer});
      if (peer == nullptr || connection.bytes < kLeastBytes || connection.busy_ns <= 0) continue;
      cells.push_back({.source = i,
                       .destination = static_cast<RankIndex>(peer - view.ranks().data()),
                       .resource = connection.resource,
                       .communicator = connection.communicator,
                       .channels = connection.channels,
                       .bytes = connection.bytes,
                       .busy_ns = connection.busy_ns});
    }
  }
  return cells;
}

// Hosts with half the ranks of others or fewer, as a job whose size is no multiple has one: what
// others spread over their ports passes few of them here.
class SmallHosts {
 public:
  // Ranks that tell of no steps in the window are there all the same.
  explicit SmallHosts(const CrossRankView& view) : view_(view) {
    for (const RankView& rank : view.ranks()) most_ = std::max(most_, ++ranks_[rank.batch->host]);
  }
  bool HasEndOf(const LinkCell& cell) const {
    return cell.resource == Resource::kNic && (IsAtOne(cell.source) || IsAtOne(cell.destination));
  }

 private:
  bool IsAtOne(RankIndex rank) const {
    return 2 * ranks_.at(view_.ranks()[rank].batch->host) <= most_;
  }

  const CrossRankView& view_;
  std::unordered_map<std::string_view, size_t> ranks_;
  size_t most_ = 0;
};

// Ranks that reach their host's others over PCIe only, while their peers take NVLink.
class Detours {
 public:
  Detours(const CrossRankView& view, std::span<const LinkCell> cells) : view_(view) {
    for (const LinkCell& cell : cells) {
      if (!IsLocal(cell) || cell.resource != Resource::kNvlink) continue;
      over_nvlink_.insert(cell.source);
      over_nvlink_.insert(cell.destination);
    }
    for (const RankIndex rank : over_nvlink_) {
      ++nvlink_ranks_of_host_[HostOf(rank)];
      devices_with_nvlink_.insert(view.ranks()[rank].batch->device);
    }
  }

  // Whether the cell goes over PCIe because one of its ends has lost its NVLink: NVLink is what the
  // same device of another host has, or most others of its own. Where PCIe cells join ranks that
  // have NVLink both, that is how the machines are built.
  bool IsOne(const LinkCell& cell) const {
    return cell.resource == Resource::kPcieTx && IsLocal(cell) &&
           (HasLost(cell.source) || HasLost(cell.destination));
  }

 private:
  static constexpr uint32_t kMost = 4;  // ranks of a host that have NVLink

  std::string_view HostOf(RankIndex rank) const { return view_.ranks()[rank].batch->host; }
  bool IsLocal(const LinkCell& cell) const {
    const bool inside = cell.resource == Resource::kNvlink || cell.resource == Resource::kPcieTx;
    return inside && !HostOf(cell.source).empty() &&
           HostOf(cell.source) == HostOf(cell.destination);
  }
  bool HasLost(RankIndex rank) const {
    if (over_nvlink_.contains(rank)) return false;
    const int32_t device = view_.ranks()[rank].batch->device;
    const auto others = nvlink_ranks_of_host_.find(HostOf(rank));
    return (device >= 0 && devices_with_nvlink_.contains(device)) ||
           (others != nvlink_ranks_of_host_.end() && others->second >= kMost);
  }

  const CrossRankView& view_;
  std::set<RankIndex> over_nvlink_;
  std::map<std::string_view, uint32_t> nvlink_ranks_of_host_;
  std::set<int32_t> devices_with_nvlink_;
};

// A cell on a detour is compared with the NVLink cells between the same roles.
void CompareDetours(const CrossRankView& view, std::span<LinkCell> cells) {
  const Detours detours(view, cells);
  // by the roles of both ends
  std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> over_nvlink;
  const auto roles = [&view](const LinkCell& cell) {
    return std::pair(view.ranks()[cell.source].role, view.ranks()[cell.destination].role);
  };
  for (const LinkCell& cell : cells) {
    if (cell.resource == Resource::kNvlink) over_nvlink[roles(cell)].push_back(cell.speed());
  }
  for (LinkCell& cell : cells) {
    if (!detours.IsOne(cell)) continue;
    std::vector<double>& speeds = over_nvlink[roles(cell)];
    if (speeds.size() < kFewestCompared) continue;
    const HealthySpeed healthy = FindHealthySpeed(std::span(speeds));
    cell.detour = true;
    cell.peers_speed = healthy.speed;
    cell.peers_spread = healthy.spread;
    cell.peers = static_cast<uint32_t>(speeds.size());
  }
}

}  // namespace

std::vector<LinkCell> MeasureLinks(const CrossRankView& view) {
  std::vector<LinkCell> cells = CollectCells(view);
  if (cells.empty()) return cells;
  const CommunicatorKinds kinds(view);
  const SmallHosts small(view);
  for (LinkCell& cell : cells) cell.kind = 2 * kinds.Of(cell) + (small.HasEndOf(cell) ? 1 : 0);
  std::sort(cells.begin(), cells.end(), [&](const LinkCell& a, const LinkCell& b) {
    return std::tuple(KindOf(view, a), a.bytes, a.source, a.destination, a.communicator) <
           std::tuple(KindOf(view, b), b.bytes, b.source, b.destination, b.communicator);
  });
  for (size_t first = 0; first < cells.size();) {
    const double same_amount = kinds.IsMixture(cells[first]) ? kSameMixture : kSameAmount;
    size_t last = first + 1;
    while (last < cells.size() && KindOf(view, cells[last]) == KindOf(view, cells[first]) &&
           static_cast<double>(cells[last].bytes) <=
               same_amount * static_cast<double>(cells[last - 1].bytes)) {
      ++last;
    }
    Compare(std::span(cells).subspan(first, last - first));
    first = last;
  }
  std::sort(cells.begin(), cells.end(), [](const LinkCell& a, const LinkCell& b) {
    return std::tuple(a.resource, a.source, a.destination, a.communicator) <
           std::tuple(b.resource, b.source, b.destination, b.communicator);
  });
  CompareDetours(view, cells);
  CompareWithOtherTraffic(view, cells);
  return cells;
}

}  // namespace eroica

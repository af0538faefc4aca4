#include "diagnosis/function_excess.h"

#include <algorithm>
#include <span>

#include "diagnosis/robust_statistics.h"

namespace eroica {
namespace {

// The other ranks of the role that reported, ascending; an even choice if there are more than
// max_peers.
std::vector<RankIndex> PeersOf(const CrossRankView& view, RankIndex rank, uint32_t max_peers) {
  std::vector<RankIndex> peers;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& other = view.ranks()[i];
    if (i != rank && other.role == view.ranks()[rank].role && !other.silent) peers.push_back(i);
  }
  if (peers.size() <= max_peers) return peers;
  std::vector<RankIndex> chosen(max_peers);
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = peers[i * peers.size() / chosen.size()];
  return chosen;
}

bool Asked(const FunctionPattern& pattern, const ExcessOptions& options) {
  if (options.skip_peer_waits && pattern.wait == WaitKind::kPeer) return false;
  if (options.skip_collectives && pattern.function_class == FunctionClass::kCollective)
    return false;
  return !options.only_class || pattern.function_class == *options.only_class;
}

// Per step only if all have steps, so that like is compared with like.
bool AllHaveSteps(const CrossRankView& view, RankIndex rank, std::span<const RankIndex> peers) {
  return !view.ranks()[rank].batch->steps.empty() &&
         std::none_of(peers.begin(), peers.end(),
                      [&](RankIndex peer) { return view.ranks()[peer].batch->steps.empty(); });
}

// Critical times of the ranks of one view, brought to one step.
class CriticalTimes {
 public:
  CriticalTimes(const CrossRankView& view, bool per_step) : view_(view), per_step_(per_step) {}

  int64_t PerStep(RankIndex rank, int64_t critical_ns) const {
    return per_step_ ? critical_ns / static_cast<int64_t>(view_.ranks()[rank].batch->steps.size())
                     : critical_ns;
  }

  // Of the function on each of the ranks, 0 where it lacks; both ascending.
  std::vector<int64_t> Of(const FunctionColumn& column, std::span<const RankIndex> ranks) const {
    std::vector<int64_t> times;
    times.reserve(ranks.size());
    auto row = column.rank.begin();
    for (const RankIndex rank : ranks) {
      row = std::lower_bound(row, column.rank.end(), rank);
      const bool runs = row != column.rank.end() && *row == rank;
      times.push_back(
          runs ? PerStep(rank, column.critical_ns[static_cast<size_t>(row - column.rank.begin())])
               : 0);
    }
    return times;
  }

  int64_t OfClass(RankIndex rank, FunctionClass function_class,
                  const ExcessOptions& options) const {
    const PatternBatch& batch = *view_.ranks()[rank].batch;
    int64_t total = batch.folded_critical_ns[static_cast<size_t>(function_class)];
    for (const FunctionPattern& pattern : batch.patterns) {
      if (pattern.function_class == function_class && Asked(pattern, options))
        total += pattern.critical_ns;
    }
    return PerStep(rank, total);
  }

 private:
  const CrossRankView& view_;
  bool per_step_;
};

int64_t LeastExcess(const CriticalTimes& times, RankIndex rank, const PatternBatch& batch,
                    const ExcessOptions& options) {
  const double span = static_cast<double>(times.PerStep(rank, batch.window.duration_ns()));
  return std::max(options.min_excess_ns, static_cast<int64_t>(options.min_excess_share * span));
}

bool HasPeers(const CrossRankView& view, RankIndex rank, std::span<const RankIndex> peers) {
  return !peers.empty() && !view.ranks()[rank].silent;
}

}  // namespace

std::vector<FunctionExcess> ExcessOverPeers(const CrossRankView& view, RankIndex rank,
                                            const ExcessOptions& options) {
  std::vector<FunctionExcess> excesses;
  if (rank >= view.ranks().size()) return excesses;
  const std::vector<RankIndex> peers = PeersOf(view, rank, options.max_peers);
  if (!HasPeers(view, rank, peers)) return excesses;
  const PatternBatch& batch = *view.ranks()[rank].batch;
  const bool per_step = AllHaveSteps(view, rank, peers);
  const CriticalTimes times(view, per_step);
  const int64_t least_excess = LeastExcess(times, rank, batch, options);
  for (const FunctionPattern& pattern : batch.patterns) {
    if (!Asked(pattern, options)) continue;
    const FunctionColumn* column = view.FindFunction(pattern.function);
    if (column == nullptr) continue;  // hidden everywhere
    std::vector<int64_t> of_peers = times.Of(*column, peers);
    FunctionExcess excess{.function = pattern.function, .pattern = &pattern};
    excess.own_ns = times.PerStep(rank, pattern.critical_ns);
    excess.peers_max_ns = *std::max_element(of_peers.begin(), of_peers.end());
    excess.peers_median_ns = static_cast<int64_t>(Median(std::span(of_peers)));
    excess.excess_ns = excess.own_ns - excess.peers_median_ns;
    excess.peers = static_cast<uint32_t>(peers.size());
    excess.active_steps = pattern.active_steps;
    excess.steps = per_step ? static_cast<uint32_t>(batch.steps.size()) : 0;
    if (excess.excess_ns >= least_excess) excesses.push_back(excess);
  }
  std::sort(excesses.begin(), excesses.end(), [](const FunctionExcess& a, const FunctionExcess& b) {
    return a.excess_ns != b.excess_ns ? a.excess_ns > b.excess_ns : a.function < b.function;
  });
  return excesses;
}

std::array<int64_t, kFunctionClassCount> ClassExcessOverPeers(const CrossRankView& view,
                                                              RankIndex rank,
                                                              const ExcessOptions& options) {
  std::array<int64_t, kFunctionClassCount> excess{};
  if (rank >= view.ranks().size()) return excess;
  const std::vector<RankIndex> peers = PeersOf(view, rank, options.max_peers);
  if (!HasPeers(view, rank, peers)) return excess;
  const CriticalTimes times(view, AllHaveSteps(view, rank, peers));
  for (int c = 0; c < kFunctionClassCount; ++c) {
    const auto function_class = static_cast<FunctionClass>(c);
    if (options.skip_collectives && function_class == FunctionClass::kCollective) continue;
    if (options.only_class && function_class != *options.only_class) continue;
    std::vector<int64_t> of_peers;
    for (const RankIndex peer : peers)
      of_peers.push_back(times.OfClass(peer, function_class, options));
    excess[static_cast<size_t>(c)] = times.OfClass(rank, function_class, options) -
                                     static_cast<int64_t>(Median(std::span(of_peers)));
  }
  return excess;
}

}  // namespace eroica

#include "diagnosis/measurements/class_excess.h"

#include <algorithm>
#include <span>
#include <vector>

#include "diagnosis/measurements/symptom.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

constexpr size_t kMostPeers = 1'024;

// The other ranks of the role that reported, ascending.
std::vector<RankIndex> PeersOf(const CrossRankView& view, RankIndex rank) {
  std::vector<RankIndex> peers;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& other = view.ranks()[i];
    if (i != rank && other.role == view.ranks()[rank].role && !other.silent) peers.push_back(i);
  }
  if (peers.size() <= kMostPeers) return peers;
  std::vector<RankIndex> chosen(kMostPeers);
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = peers[i * peers.size() / chosen.size()];
  return chosen;
}

int64_t TimeOf(const PatternBatch& batch, FunctionClass function_class, bool per_step) {
  int64_t total = batch.folded_critical_ns[static_cast<size_t>(function_class)];
  for (const FunctionPattern& pattern : batch.patterns) {
    if (pattern.function_class == function_class && !IsSymptom(pattern))
      total += pattern.critical_ns;
  }
  return per_step ? total / static_cast<int64_t>(batch.steps.size()) : total;
}

}  // namespace

std::array<int64_t, kFunctionClassCount> ClassExcessOverPeers(const CrossRankView& view,
                                                              RankIndex rank) {
  std::array<int64_t, kFunctionClassCount> excess{};
  if (rank >= view.ranks().size() || view.ranks()[rank].silent) return excess;
  const std::vector<RankIndex> peers = PeersOf(view, rank);
  if (peers.empty()) return excess;
  const PatternBatch& own = *view.ranks()[rank].batch;
  const bool per_step = !own.steps.empty() && std::ranges::none_of(peers, [&](RankIndex peer) {
    return view.ranks()[peer].batch->steps.empty();
  });
  for (int c = 0; c < kFunctionClassCount; ++c) {
    const auto function_class = static_cast<FunctionClass>(c);
    if (function_class == FunctionClass::kCollective) continue;
    std::vector<int64_t> of_peers;
    for (const RankIndex peer : peers)
      of_peers.push_back(TimeOf(*view.ranks()[peer].batch, function_class, per_step));
    excess[static_cast<size_t>(c)] =
        TimeOf(own, function_class, per_step) - static_cast<int64_t>(Median(std::span(of_peers)));
  }
  return excess;
}

}  // namespace eroica

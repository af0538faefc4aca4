#include "diagnosis/imbalance/hidden_waits.h"

#include <algorithm>
#include <map>

#include "diagnosis/measurements/symptom.h"

namespace eroica {
namespace {

double BytesOf(const PatternBatch& batch) {
  uint64_t bytes = 0;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (pattern.function_class == FunctionClass::kCollective) bytes += pattern.bytes;
  }
  return static_cast<double>(bytes) / static_cast<double>(std::max<size_t>(1, batch.steps.size()));
}

// The rank of each role that exchanges most, where all compute on the host.
std::map<uint32_t, BusyTime> MostBytes(const CrossRankView& view) {
  std::map<uint32_t, BusyTime> most;
  std::map<uint32_t, double> bytes;
  for (const BusyTime& busy : view.busy_times()) {
    const PatternBatch& batch = *view.ranks()[busy.rank].batch;
    if (!batch.host_only) return {};
    const double own = BytesOf(batch);
    if (own <= bytes[busy.role]) continue;
    bytes[busy.role] = own;
    most[busy.role] = busy;
  }
  return most;
}

// What operators that are no collectives take longer on the median of the peers than on the rank.
double LongerOnPeers(const CrossRankView& view, const BusyTime& busy) {
  const PatternBatch& batch = *view.ranks()[busy.rank].batch;
  double sum = 0;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (IsSymptom(pattern)) continue;
    const FunctionColumn* column = view.FindFunction(pattern.function);
    if (column == nullptr) continue;  // hidden everywhere
    std::vector<double> peers;
    for (size_t i = 0; i < column->size(); ++i) {
      const RankView& peer = view.ranks()[column->rank[i]];
      if (column->rank[i] == busy.rank || peer.role != busy.role || peer.batch->steps.empty())
        continue;
      peers.push_back(static_cast<double>(column->critical_ns[i]) /
                      static_cast<double>(peer.batch->steps.size()));
    }
    if (peers.empty()) continue;
    std::nth_element(peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(peers.size() / 2),
                     peers.end());
    const double own_ns =
        static_cast<double>(pattern.critical_ns) / static_cast<double>(batch.steps.size());
    sum += std::max(0.0, peers[peers.size() / 2] - own_ns);
  }
  return sum;
}

}  // namespace

std::vector<HotRank> FindHotRanks(const CrossRankView& view, const HiddenWaitsOptions& options) {
  std::vector<HotRank> hot;
  for (auto [role, busy] : MostBytes(view)) {
    if (busy.steps < options.min_steps) continue;
    const ComputeGrowth growth = MeasureComputeGrowth(view, busy);
    if (growth.cause != GrowthCause::kRouting ||
        growth.bytes_growth.value_or(0) < options.min_bytes_growth)
      continue;
    if (growth.routed_ns < options.min_share * busy.step_ns) continue;
    if (LongerOnPeers(view, busy) < options.min_mirrored * growth.routed_ns) continue;
    busy.excess_ns = growth.routed_ns;
    busy.slow_steps = growth.routed->active_steps;
    hot.push_back({busy, growth});
  }
  return hot;
}

}  // namespace eroica

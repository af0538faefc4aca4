#include "diagnosis/step_accounting/late_excess.h"

#include <algorithm>

#include "diagnosis/peer_median.h"

namespace eroica {
namespace {

// Rows of one role at a time: positions in row.rank.
std::vector<std::vector<size_t>> ByRole(const CrossRankView& view, const StepRow& row) {
  std::vector<std::vector<size_t>> members(view.role_count());
  for (size_t i = 0; i < row.size(); ++i) members[view.ranks()[row.rank[i]].role].push_back(i);
  return members;
}

// Calls take(member, excess over the median of the other members).
template <typename Value, typename Take>
void OverPeers(const std::vector<size_t>& members, const Value& value, const Take& take) {
  std::vector<double> values;
  values.reserve(members.size());
  for (const size_t member : members) values.push_back(value(member));
  const PeerMedian peers(values);
  if (!peers.has_peers()) return;
  for (const size_t member : members) take(member, value(member) - peers.Without(value(member)));
}

constexpr auto kData = static_cast<size_t>(StepStage::kData);
constexpr auto kForward = static_cast<size_t>(StepStage::kForward);
constexpr auto kBackward = static_cast<size_t>(StepStage::kBackward);
constexpr auto kOptimizer = static_cast<size_t>(StepStage::kOptimizer);

}  // namespace

LateExcess LateExcessOf(const CrossRankView& view, const StepRow& row) {
  LateExcess late;
  for (std::vector<double>& column : late.excess_ns) column.resize(row.size());
  for (std::vector<double>& column : late.lag_ns) column.resize(row.size());
  std::vector<int64_t> reached(row.size(), 0);
  for (const std::vector<size_t>& members : ByRole(view, row)) {
    // What is left of a rank's excess stands in the backward pass until a stage claims it.
    std::vector<double>& rest = late.excess_ns[row.marked ? kBackward : 0];
    OverPeers(
        members, [&](size_t m) { return static_cast<double>(row.duration_ns[m] - row.peer_wait_ns[m]); },
        [&](size_t m, double over) { rest[m] = std::max(0.0, over); });
    if (!row.marked) continue;
    for (const size_t stage : {kData, kForward, kOptimizer}) {
      OverPeers(
          members, [&](size_t m) { return static_cast<double>(row.stage_ns[stage][m]); },
          [&](size_t m, double over) {
            const double claimed = std::clamp(over, 0.0, rest[m]);
            late.excess_ns[stage][m] = claimed;
            rest[m] -= claimed;
          });
    }
    for (size_t stage = 1; stage < kStepStageCount; ++stage) {
      for (const size_t m : members) reached[m] += row.stage_ns[stage - 1][m];
      OverPeers(
          members, [&](size_t m) { return static_cast<double>(reached[m]); },
          [&](size_t m, double over) { late.lag_ns[stage][m] = std::max(0.0, over); });
    }
  }
  return late;
}

}  // namespace eroica

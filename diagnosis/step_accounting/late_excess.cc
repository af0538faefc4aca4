#include "diagnosis/step_accounting/late_excess.h"

#include <algorithm>
#include <ranges>

#include "diagnosis/peer_median.h"

namespace eroica {
namespace {

// Rows of one role at a time: positions in row.rank.
std::vector<std::vector<size_t>> ByRole(const CrossRankView& view, const StepRow& row) {
  std::vector<std::vector<size_t>> members(view.role_count());
  for (size_t i = 0; i < row.size(); ++i) members[view.ranks()[row.rank[i]].role].push_back(i);
  return members;
}

// Calls take(member, excess over the median of the other members). `values` is memory to work in.
template <typename Members, typename Value, typename Take>
void OverPeers(const Members& members, std::vector<double>& values, const Value& value, const Take& take) {
  values.resize(members.size());
  std::ranges::transform(members, values.begin(), value);
  const PeerMedian peers(values);
  if (!peers.has_peers()) return;
  for (const size_t member : members) {
    const double own = value(member);
    take(member, own - peers.Without(own));
  }
}

constexpr auto kData = static_cast<size_t>(StepStage::kData);
constexpr auto kForward = static_cast<size_t>(StepStage::kForward);
constexpr auto kBackward = static_cast<size_t>(StepStage::kBackward);
constexpr auto kOptimizer = static_cast<size_t>(StepStage::kOptimizer);

// Members are positions in row.rank; reached_ns is how far they are after the first stage.
template <typename Members>
void AddRole(const StepRow& row, const Members& members, std::vector<int64_t>& reached_ns, LateExcess& late) {
  std::vector<double> values;
  // What is left of a rank's excess stands in the backward pass until a stage claims it.
  std::vector<double>& rest = late.excess_ns[row.marked ? kBackward : 0];
  OverPeers(
      members, values, [&](size_t m) { return static_cast<double>(row.duration_ns[m] - row.peer_wait_ns[m]); },
      [&](size_t m, double over) { rest[m] = std::max(0.0, over); });
  if (!row.marked) return;
  for (const size_t stage : {kData, kForward, kOptimizer}) {
    OverPeers(
        members, values, [&](size_t m) { return static_cast<double>(row.stage_ns[stage][m]); },
        [&](size_t m, double over) {
          const double claimed = std::clamp(over, 0.0, rest[m]);
          late.excess_ns[stage][m] = claimed;
          rest[m] -= claimed;
        });
  }
  for (size_t stage = 1; stage < kStepStageCount; ++stage) {
    OverPeers(
        members, values, [&](size_t m) { return static_cast<double>(reached_ns[m]); },
        [&](size_t m, double over) { late.lag_ns[stage][m] = std::max(0.0, over); });
    for (const size_t m : members) reached_ns[m] += row.stage_ns[stage][m];
  }
}

}  // namespace

LateExcess LateExcessOf(const CrossRankView& view, const StepRow& row) {
  LateExcess late;
  for (std::vector<double>& column : late.excess_ns) column.resize(row.size());
  for (std::vector<double>& column : late.lag_ns) column.resize(row.size());
  std::vector<int64_t> reached_ns = row.stage_ns[0];
  if (view.role_count() == 1) {
    AddRole(row, std::views::iota(size_t{0}, row.size()), reached_ns, late);
  } else {
    for (const std::vector<size_t>& members : ByRole(view, row)) AddRole(row, members, reached_ns, late);
  }
  return late;
}

}  // namespace eroica

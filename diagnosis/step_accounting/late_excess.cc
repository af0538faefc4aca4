#include "diagnosis/step_accounting/late_excess.h"

#include <algorithm>
#include <ranges>

namespace eroica {
namespace {

constexpr auto kData = static_cast<size_t>(StepStage::kData);
constexpr auto kForward = static_cast<size_t>(StepStage::kForward);
constexpr auto kBackward = static_cast<size_t>(StepStage::kBackward);
constexpr auto kOptimizer = static_cast<size_t>(StepStage::kOptimizer);

// Rows of one role at a time: positions in row.rank.
std::vector<std::vector<size_t>> ByRole(const CrossRankView& view, const StepRow& row) {
  std::vector<std::vector<size_t>> members(view.role_count());
  for (size_t i = 0; i < row.size(); ++i) members[view.ranks()[row.rank[i]].role].push_back(i);
  return members;
}

double BusyNs(const StepRow& row, size_t i) { return static_cast<double>(row.duration_ns[i] - row.peer_wait_ns[i]); }

double ReachedNs(const StepRow& row, size_t i, size_t stage) {
  int64_t reached = 0;
  for (size_t before = 0; before < stage; ++before) reached += row.stage_ns[before][i];
  return static_cast<double>(reached);
}

}  // namespace

template <typename Members, typename Value>
PeerMedian LateExcess::MedianOf(const Members& members, const Value& value) {
  values_.resize(members.size());
  std::ranges::transform(members, values_.begin(), value);
  return PeerMedian(values_);
}

template <typename Members>
PeerMedian LateExcess::MedianOfReached(const StepRow& row, const Members& members, size_t stage) {
  const PeerMedian median = MedianOf(members, [&](size_t i) { return ReachedNs(row, i, stage); });
  // Who is furthest is latest.
  if (median.has_peers()) most_lag_ns_[stage] = std::max(most_lag_ns_[stage], median.Over(std::ranges::max(values_)));
  return median;
}

template <typename Members>
LateExcess::Usual LateExcess::UsualOf(const StepRow& row, const Members& members) {
  Usual usual{.busy_ns = MedianOf(members, [&](size_t i) { return BusyNs(row, i); })};
  if (!row.marked) return usual;
  for (const size_t stage : {kData, kForward, kOptimizer})
    usual.stage_ns[stage] = MedianOf(members, [&](size_t i) { return static_cast<double>(row.stage_ns[stage][i]); });
  for (size_t stage = kForward; stage < kStepStageCount; ++stage) usual.reached_ns[stage] = MedianOfReached(row, members, stage);
  return usual;
}

template <typename Members>
void LateExcess::AddRole(const StepRow& row, const Members& members) {
  if (members.size() < 2) return;
  const Usual usual = UsualOf(row, members);
  if (!row.marked) {
    for (const size_t i : members) late_ns_[0][i] = std::max(0.0, usual.busy_ns.Over(BusyNs(row, i)));
    return;
  }
  for (const size_t i : members) {
    double rest = std::max(0.0, usual.busy_ns.Over(BusyNs(row, i)));
    // What no stage claims stands in the backward pass.
    for (const size_t stage : {kData, kForward, kOptimizer}) {
      const double claimed = std::clamp(usual.stage_ns[stage].Over(static_cast<double>(row.stage_ns[stage][i])), 0.0, rest);
      late_ns_[stage][i] = claimed;
      rest -= claimed;
    }
    late_ns_[kBackward][i] = rest;
    for (size_t stage = kForward; stage < kStepStageCount; ++stage)
      late_ns_[stage][i] += std::max(0.0, usual.reached_ns[stage].Over(ReachedNs(row, i, stage)));
  }
}

void LateExcess::Look(const StepRow& row) {
  for (std::vector<double>& stage : late_ns_) stage.assign(row.size(), 0);
  most_lag_ns_ = {};
  if (view_.role_count() == 1) {
    AddRole(row, std::views::iota(size_t{0}, row.size()));
  } else {
    for (const std::vector<size_t>& members : ByRole(view_, row)) AddRole(row, members);
  }
}

}  // namespace eroica

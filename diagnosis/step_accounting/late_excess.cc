#include "diagnosis/step_accounting/late_excess.h"

#include <algorithm>
#include <ranges>

namespace eroica {
namespace {

constexpr auto kData = static_cast<size_t>(StepStage::kData);
constexpr auto kForward = static_cast<size_t>(StepStage::kForward);
constexpr auto kBackward = static_cast<size_t>(StepStage::kBackward);
constexpr auto kOptimizer = static_cast<size_t>(StepStage::kOptimizer);

// Of each role: positions in row.rank.
std::vector<std::vector<uint32_t>> ByRole(const std::vector<uint32_t>& role, size_t roles,
                                          const StepRow& row) {
  std::vector<std::vector<uint32_t>> members(roles);
  for (uint32_t i = 0; i < row.size(); ++i) members[role[row.rank[i]]].push_back(i);
  return members;
}

double BusyNs(const StepRow& row, size_t i) {
  return static_cast<double>(row.duration_ns[i] - row.peer_wait_ns[i]);
}

}  // namespace

LateExcess::LateExcess(const CrossRankView& view) : usual_(view.role_count()) {
  role_.reserve(view.ranks().size());
  for (const RankView& rank : view.ranks()) role_.push_back(rank.role);
}

template <typename Members, typename Value>
PeerMedian LateExcess::MedianOf(const Members& members, const Value& value) {
  values_.resize(members.size());
  std::ranges::transform(members, values_.begin(),
                         [&](size_t i) { return static_cast<double>(value(i)); });
  return PeerMedian(values_);
}

template <typename Members>
LateExcess::Usual LateExcess::UsualOf(const StepRow& row, const Members& members) {
  Usual usual{.busy_ns = MedianOf(members, [&](size_t i) { return BusyNs(row, i); })};
  if (!row.marked) return usual;
  const auto& [data, forward, backward, optimizer] = row.stage_ns;
  usual.stage_ns[kForward] = MedianOf(members, [&](size_t i) { return forward[i]; });
  usual.stage_ns[kOptimizer] = MedianOf(members, [&](size_t i) { return optimizer[i]; });
  usual.reached_ns[kForward] = MedianOf(members, [&](size_t i) { return data[i]; });
  usual.reached_ns[kBackward] = MedianOf(members, [&](size_t i) { return data[i] + forward[i]; });
  usual.reached_ns[kOptimizer] =
      MedianOf(members, [&](size_t i) { return data[i] + forward[i] + backward[i]; });
  usual.stage_ns[kData] = usual.reached_ns[kForward];
  return usual;
}

void LateExcess::FindLate(const StepRow& row) {
  late_.resize(row.size() + 1);
  excess_ns_.resize(row.size() + 1);
  size_t count = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const PeerMedian& usual = UsualFor(row, i).busy_ns;
    const double excess_ns = usual.Over(BusyNs(row, i));
    late_[count] = static_cast<uint32_t>(i);  // no branch: whether it stays is seen by the next
    excess_ns_[count] = excess_ns;
    count += static_cast<size_t>(usual.has_peers()) & static_cast<size_t>(excess_ns > 0);
  }
  late_.resize(count);
  excess_ns_.resize(count);
}

void LateExcess::PutToStages(const StepRow& row) {
  for (std::vector<double>& stage : late_ns_) stage.resize(late_.size());
  for (size_t k = 0; k < late_.size(); ++k) {
    const size_t i = late_[k];
    const Usual& usual = UsualFor(row, i);
    double rest = excess_ns_[k];
    for (const size_t stage : {kData, kForward, kOptimizer}) {
      const double longer = usual.stage_ns[stage].Over(static_cast<double>(row.stage_ns[stage][i]));
      late_ns_[stage][k] = std::min(std::max(longer, 0.0), rest);
      rest -= late_ns_[stage][k];
    }
    late_ns_[kBackward][k] = rest;  // what no stage claims
    int64_t reached = 0;
    double excess_before = late_ns_[kData][k];
    for (size_t stage = kForward; stage < kStepStageCount; ++stage) {
      reached += row.stage_ns[stage - 1][i];
      const double later = usual.reached_ns[stage].Over(static_cast<double>(reached));
      const double lag = std::clamp(later, 0.0, excess_before);
      most_lag_ns_[stage] = std::max(most_lag_ns_[stage], lag);
      excess_before += late_ns_[stage][k];
      late_ns_[stage][k] += lag;
    }
  }
}

void LateExcess::Look(const StepRow& row) {
  most_lag_ns_ = {};
  if (usual_.size() == 1) {
    usual_.front() = UsualOf(row, std::views::iota(size_t{0}, row.size()));
  } else {
    const std::vector<std::vector<uint32_t>> members = ByRole(role_, usual_.size(), row);
    std::ranges::transform(members, usual_.begin(), [&](const std::vector<uint32_t>& of_role) {
      return UsualOf(row, of_role);
    });
  }
  FindLate(row);
  if (row.marked) return PutToStages(row);
  for (std::vector<double>& stage : late_ns_) stage.assign(late_.size(), 0);
  late_ns_[kData] = excess_ns_;
}

}  // namespace eroica

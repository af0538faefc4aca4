// How much later each rank of a step is than its peers, by stage: what the account charges.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "diagnosis/peer_median.h"
#include "diagnosis/step_accounting/step_table.h"

namespace eroica {

// Of one step after another, so that memory is asked for once. The view must outlive it.
// A rank's excess is its busy time over the median of its peers, put to the stages in which it took longer than they; its lag at a stage's begin is its cumulative time
// over the median of its peers, not below 0. A rank that is alone in its role has no peers, no excess and no lag.
class LateExcess {
 public:
  explicit LateExcess(const CrossRankView& view) : view_(view) {}

  // All below is of this step from now on. In an unmarked step all excess is in the first stage.
  void Look(const StepRow& row);

  // As row.rank: lag at the stage's begin and excess in it.
  std::span<const double> late_ns(size_t stage) const { return late_ns_[stage]; }
  // Of the latest rank.
  double most_lag_ns(size_t stage) const { return most_lag_ns_[stage]; }

 private:
  // Of the ranks of one role: what each is compared with.
  struct Usual {
    PeerMedian busy_ns;
    std::array<PeerMedian, kStepStageCount> stage_ns;    // of all but the backward pass, which holds what they leave
    std::array<PeerMedian, kStepStageCount> reached_ns;  // cumulative time at the stage's begin
  };

  template <typename Members>
  void AddRole(const StepRow& row, const Members& members);
  template <typename Members>
  Usual UsualOf(const StepRow& row, const Members& members);
  template <typename Members, typename Value>
  PeerMedian MedianOf(const Members& members, const Value& value);
  template <typename Members>
  PeerMedian MedianOfReached(const StepRow& row, const Members& members, size_t stage);

  const CrossRankView& view_;
  std::array<std::vector<double>, kStepStageCount> late_ns_;
  std::array<double, kStepStageCount> most_lag_ns_{};
  std::vector<double> values_;  // to find medians in
};

}  // namespace eroica

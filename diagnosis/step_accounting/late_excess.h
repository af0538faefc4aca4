// How much later each rank of a step is than its peers, by stage: what the account charges.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/statistics/peer_median.h"
#include "diagnosis/step_accounting/step_table.h"

namespace eroica {

// Of one step after another, so that memory is asked for once.
// A rank's excess is its busy time over the median of its peers, put to the stages in which it took
// longer than they; its lag at a stage's begin is its cumulative time over the median of its peers,
// not below 0. A rank that is alone in its role has no peers, no excess and no lag. Who has no
// excess is never later than the latest at a stage's begin, so that only the others are told.
class LateExcess {
 public:
  explicit LateExcess(const CrossRankView& view);

  // All below is of this step from now on. In an unmarked step all excess is in the first stage.
  void Look(const StepRow& row);

  // Positions in row.rank of those that have an excess, ascending.
  std::span<const uint32_t> late() const { return late_; }
  // As late(): lag at the stage's begin and excess in it.
  std::span<const double> late_ns(size_t stage) const { return late_ns_[stage]; }
  // Of the latest of all ranks.
  double most_lag_ns(size_t stage) const { return most_lag_ns_[stage]; }

 private:
  // Of the ranks of one role: what each is compared with.
  struct Usual {
    PeerMedian busy_ns;
    // of all but the backward pass, which holds what they leave
    std::array<PeerMedian, kStepStageCount> stage_ns;
    std::array<PeerMedian, kStepStageCount> reached_ns;  // cumulative time at the stage's begin
  };

  template <typename Members>
  Usual UsualOf(const StepRow& row, const Members& members);
  template <typename Members, typename Value>
  PeerMedian MedianOf(const Members& members, const Value& value);
  void FindLate(const StepRow& row);
  void PutToStages(const StepRow& row);

  const Usual& UsualFor(const StepRow& row, size_t i) const { return usual_[role_[row.rank[i]]]; }

  std::vector<uint32_t> role_;  // by RankIndex
  std::vector<Usual> usual_;    // by role
  std::vector<uint32_t> late_;
  std::vector<double> excess_ns_;  // as late_
  std::array<std::vector<double>, kStepStageCount> late_ns_;
  std::array<double, kStepStageCount> most_lag_ns_{};
  std::vector<double> values_;  // to find medians in
};

}  // namespace eroica

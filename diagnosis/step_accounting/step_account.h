// An exact, additive account of the steps of a window: how long they took by stage, and what the
// job lost by whom. Pure. Findings take their impact from it, so that no loss is claimed twice: the
// impacts of findings with different culprits never add up to more than was lost.
//
// Exposed time: the increments of the frontier (step_frontier.h). Lost time: what the steps would
// have been shorter had every rank been as busy as the others of its role. A rank's excess in a
// step is its busy time (duration - waiting for peers) over the median of its peers, put to the
// stages in which it took longer than they; what no stage shows belongs to the backward pass, in
// which the waiting of the victims hides it. In a stage the job loses what the latest rank would
// end it later than the latest had begun it: excesses that run side by side count once, those with
// a synchronization between them both. Ranks late together share the loss by the Shapley value of
// the airport game: each slice of it equally among all who are later than the slice. Nobody is
// charged for more than his own excess.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "diagnosis/cross_rank_view.h"
#include "diagnosis/step_accounting/step_table.h"

namespace eroica {

// The stages of StepStage, and last the steps of which some rank does not tell the stages.
inline constexpr size_t kUnmarkedStage = kStepStageCount;
inline constexpr size_t kAccountStageCount = kStepStageCount + 1;
std::string_view StageName(size_t stage);

struct RankAccount {
  RankId rank;
  std::array<int64_t, kAccountStageCount> led_ns{};  // increments of the frontier that it led
  std::array<uint32_t, kAccountStageCount> led_steps{};
  std::array<double, kAccountStageCount> lost_ns{};  // what the job lost by it
  double lost() const;
};

struct StepAccount {
  uint32_t steps = 0;
  uint32_t unmarked_steps = 0;
  int64_t exposed_ns = 0;  // sum over the steps of the longest duration: equals the sum of stage_ns
  std::array<int64_t, kAccountStageCount> stage_ns{};  // equals the sum of the ranks' led_ns
  // equals the sum of the ranks' lost_ns; never more than the most that a rank waited in each step
  double lost_ns = 0;
  std::array<double, kAccountStageCount> stage_lost_ns{};
  std::vector<RankAccount> ranks;  // as CrossRankView::ranks

  // What the job lost by these ranks together, a step. Ranks that are not in the view lost nothing;
  // each counts once.
  double LostPerStep(std::span<const RankId> culprits) const;
};

StepAccount Account(const CrossRankView& view);
// Of the account no more than what each of the ranks asked for is charged with, a step; in their
// order. Nothing where there are no steps, or where some rank does not tell the stages of one.
std::optional<std::vector<double>> LostPerStep(const CrossRankView& view,
                                               std::span<const RankId> asked);

}  // namespace eroica

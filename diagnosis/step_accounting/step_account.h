// What the job lost by whom in the steps of a window: exact and additive. Pure. Findings take their
// impact from it, so that no loss is claimed twice: the impacts of findings with different culprits
// never add up to more than was lost.
//
// Lost time: what the steps would have been shorter had every rank been as busy as the others of
// its role. A rank's excess in a step is its busy time (duration - waiting for peers) over the
// median of its peers, put to the stages in which it took longer than they; what no stage shows
// belongs to the backward pass, in which the waiting of the victims hides it. In a stage the job
// loses what the latest rank would end it later than the latest had begun it: excesses that run
// side by side count once, those with a synchronization between them both. Ranks late together
// share the loss by the Shapley value of the airport game: each slice of it equally among all who
// are later than the slice. Nobody is charged for more than his own excess, and together they are
// charged for no more than the most that a rank waited in each step.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// What the job lost by each of the ranks asked for, in ns a step; in their order. Ranks that are
// not in the view lost nothing. Nothing where there are no steps, where some rank does not tell the
// stages of one, or where ranks wait in some steps and in others none does (local SGD): there steps
// do not begin together.
std::optional<std::vector<double>> LostPerStep(const CrossRankView& view,
                                               std::span<const RankId> asked);

}  // namespace eroica

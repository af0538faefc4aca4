// Ranks that are held up now and then, each in steps of its own, by nothing that was recorded of
// them: stalls of devices, of the host or of the network that rotate. No rank is to blame, and no
// function is known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "diagnosis/measurements/cross_rank_view.h"
#include "diagnosis/spike/step_spikes.h"

namespace eroica {

struct TurnsOptions {
  size_t min_ranks = 3;  // that have slow steps, none of them half of all
  // Of a step: what they cost at least. Healthy ranks have slow steps that nothing recorded
  // explains, too (heavy tails), so that the limit is higher than for a function that is named.
  double min_share = 0.05;
};

struct Turns {
  size_t ranks = 0;
  uint32_t slow_steps = 0;  // of all ranks
  uint32_t steps = 0;       // of the window
  double stall_ns = 0;      // mean excess of a slow step
  double cost_ns = 0;       // a step of the job
};

// unexplained: one entry a rank; its slow steps, which no function, kernel or copy explains. Ranks
// without peers count as others do. Nothing where fewer ranks have such steps, one has half of
// them, or they cost less.
std::optional<Turns> FindTurns(std::span<const StepSpike> unexplained, const TurnsOptions& options);

// Whether the kernels that work on data take half and more of what these ranks are longer than the
// others of their roles.
bool AreInKernels(const CrossRankView& view, std::span<const StepSpike> spikes);

}  // namespace eroica

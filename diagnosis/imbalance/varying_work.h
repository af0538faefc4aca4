// Work that differs from step to step over all ranks: micro-batches of other lengths each time, so
// that every step is as long as its longest one. No rank is late for good and nobody is to blame,
// and no mean over a window shows it: what it costs is that the slowest rank of a step is another
// one each time. Its cause is the work, and not what a thread waits for at times, where the kernels
// say so: a rank whose kernels on data took longer than in the window before, against its peers,
// was busier by as much, and its clock does not say that the device was slower. (What-if analysis
// of stragglers, OSDI'25, on sequence lengths: METHODS 9)
#pragma once

#include <cstdint>
#include <optional>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

struct VaryingWork {
  double cost_ns =
      0;  // a step: what all others wait for its slowest rank, explained by the kernels
  double step_ns = 0;
  double explained = 0;  // share of how busy ranks are that goes with their kernels: r squared
  double p_value = 1;    // that it does so by accident
  uint32_t slowest = 0;  // different ranks that were the slowest of a step
  uint32_t steps = 0;
  uint32_t ranks = 0;  // compared
};

struct VaryingWorkOptions {
  uint32_t min_steps = 3;
  uint32_t min_ranks = 4;
  double min_share = 0.03;    // of a step: what a person would still act on
  double max_of_one = 0.5;    // of the cost, by a single rank: else it is that rank's
  double max_p_value = 1e-4;  // that kernels explain it by accident
  // of how much longer kernels take, by the clock: else it is the devices that are slow
  double max_of_clock = 0.5;
};

// Against the window before; nothing where there is none of the same ranks, or where kernels are
// not recorded.
std::optional<VaryingWork> FindVaryingWork(const CrossRankView& view,
                                           const VaryingWorkOptions& options);

}  // namespace eroica

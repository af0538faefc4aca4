// Copies between host and device that are slow on a rank without peers. How long a copy takes is no
// fault, as stages may copy more than others; at what speed it goes is the slot's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "diagnosis/measurements/host_ranks.h"

namespace eroica {

struct SlowCopies {
  const FunctionColumn* column = nullptr;
  double own_ns = 0;           // a step
  double speed = 0;            // of that on the median of the others
  double least_elsewhere = 0;  // likewise
  double excess_ns() const {
    return own_ns * (1 - speed);
  }  // a step, over what they would take at the usual speed
};

// Of each rank the copies that lose most, at three quarters of the usual speed and less, which take
// half as long again; nothing where bytes are not known and the bus is not sampled.
std::vector<std::optional<SlowCopies>> FindSlowCopies(const CrossRankView& view,
                                                      std::span<const HostRanks> ranks);

}  // namespace eroica

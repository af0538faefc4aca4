// A function of the training thread that the ranks of one host spend their steps in, and nobody
// elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "diagnosis/measurements/host_ranks.h"

namespace eroica {

struct HostFunction {
  const FunctionColumn* column = nullptr;
  double own_ns = 0;     // a step: median over the host's ranks
  double others_ns = 0;  // median over all others; 0 where most do not run it
  double most_ns = 0;    // of the others
  uint32_t ranks = 0;    // of the host that spend their steps in it
  // of the processor's use for it on other hosts; nothing without samples of both
  std::optional<double> cpu_share;
  double excess_ns() const { return own_ns - others_ns; }
};

// In the order of `hosts`: of each the function that costs most, where three of four ranks spend
// min_share of their steps in it, in three of four steps (half of them where hosts are single
// ranks), and at most one of four elsewhere half as much.
std::vector<std::optional<HostFunction>> FindHostFunctions(const CrossRankView& view,
                                                           std::span<const HostRanks> hosts,
                                                           double min_share);

// Whether it is the host's, and not its pipeline stages', which may run what others do not. Either
// the host shares a stage with others, which do not spend their time so; or its processor is half
// as busy for it as others'; or the function rather waits than computes, and is a twentieth of a
// step, which no stage needs, or all stages of the host do, several, or the job's past did not know
// it so. What the past did not know of a single rank is its own whatever it is.
bool IsOfHost(const CrossRankView& view, const HostRanks& host, const HostFunction& function);

}  // namespace eroica

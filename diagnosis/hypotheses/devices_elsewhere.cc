#include "diagnosis/hypotheses/devices_elsewhere.h"

#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "schemas/kernel_bound.h"

namespace eroica {
namespace {

// A step, in kernels on data.
double OnDataNs(const RankView& rank) {
  double ns = 0;
  for (const FunctionPattern& pattern : rank.batch->patterns) {
    const bool counts = pattern.function_class == FunctionClass::kGpuCompute &&
                        pattern.wait != WaitKind::kPeer &&
                        BoundOf(pattern.name) != KernelBound::kParameters;
    ns += counts ? static_cast<double>(pattern.critical_ns) : 0;
  }
  return ns / rank.step.steps;
}

}  // namespace

HealthySpread DevicesElsewhere(const CrossRankView& view, uint32_t role) {
  constexpr size_t kMostRanks = 64;
  std::map<uint32_t, std::vector<double>> by_role;
  size_t ranks = 0;
  for (const RankView& rank : view.ranks()) {
    if (rank.role == role || !rank.has_steps()) continue;
    if (++ranks > kMostRanks) break;
    if (const double ns = OnDataNs(rank); ns > 0) by_role[rank.role].push_back(ns);
  }
  double squares = 0;
  HealthySpread spread;
  for (const auto& [other, times] : by_role) {
    const auto count = static_cast<double>(times.size());
    const double mean = std::reduce(times.begin(), times.end()) / count;
    for (const double ns : times) squares += (ns / mean - 1) * (ns / mean - 1);
    spread.freedom += count - 1;
  }
  if (spread.freedom > 0) spread.value = std::sqrt(squares / spread.freedom);
  return spread;
}

}  // namespace eroica

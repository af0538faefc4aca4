#include "diagnosis/spike/turns.h"

#include <algorithm>
#include <vector>

#include "diagnosis/statistics/robust_statistics.h"
#include "schemas/kernel_bound.h"

namespace eroica {
namespace {

// A step of each rank, in ns: its kernels that work on data.
std::vector<double> KernelTimes(const CrossRankView& view) {
  std::vector<double> times(view.ranks().size(), 0);
  for (const FunctionColumn& column : view.functions()) {
    const FunctionPattern& sample = *column.sample;
    if (sample.function_class != FunctionClass::kGpuCompute || sample.wait == WaitKind::kPeer ||
        WorksOnParameters(sample.name))
      continue;
    for (size_t row = 0; row < column.size(); ++row) {
      const RankIndex rank = column.rank[row];
      times[rank] += static_cast<double>(column.critical_ns[row]) /
                     std::max(1.0, static_cast<double>(view.ranks()[rank].step.steps));
    }
  }
  return times;
}

}  // namespace

std::optional<Turns> FindTurns(std::span<const StepSpike> unexplained,
                               const TurnsOptions& options) {
  Turns turns{.ranks = unexplained.size()};
  uint32_t most = 0;
  double step_ns = 0;
  for (const StepSpike& spike : unexplained) {
    most = std::max(most, spike.slow_steps);
    turns.slow_steps += spike.slow_steps;
    turns.steps = std::max(turns.steps, spike.steps);
    turns.cost_ns += spike.excess_ns;
    step_ns = std::max(step_ns, spike.step_ns);
  }
  if (turns.ranks < options.min_ranks || 2 * most >= turns.slow_steps) return std::nullopt;
  if (turns.cost_ns < options.min_share * step_ns) return std::nullopt;
  turns.stall_ns = turns.cost_ns * turns.steps / turns.slow_steps;
  return turns;
}

bool AreInKernels(const CrossRankView& view, std::span<const StepSpike> spikes) {
  const auto has_spike = [&](size_t rank) {
    return std::ranges::find(spikes, rank, &StepSpike::rank) != spikes.end();
  };
  const std::vector<double> work = KernelTimes(view);
  std::vector<std::vector<double>> of_others(view.role_count());
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    if (view.ranks()[i].has_steps() && !has_spike(i))
      of_others[view.ranks()[i].role].push_back(work[i]);
  }
  double longer_ns = 0;
  double in_kernels_ns = 0;
  for (const StepSpike& spike : spikes) {
    longer_ns += spike.excess_ns;
    std::vector<double>& others = of_others[view.ranks()[spike.rank].role];
    if (!others.empty()) in_kernels_ns += work[spike.rank] - Median(std::span(others));
  }
  return longer_ns > 0 && 2 * in_kernels_ns >= longer_ns;
}

}  // namespace eroica

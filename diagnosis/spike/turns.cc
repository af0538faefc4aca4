#include "diagnosis/spike/turns.h"

#include <algorithm>
#include <vector>

#include "diagnosis/measurements/rank_times.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {

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
  std::vector<double> work(view.ranks().size(), 0);
  std::vector<std::vector<double>> of_others(view.role_count());
  ForEachRankTime(NumbersOf(view.ranks()), view.work_times(), [&](size_t i, const RankTime& row) {
    work[i] = row.busy_ns;
    if (!has_spike(i)) of_others[view.ranks()[i].role].push_back(work[i]);
  });
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

#include "diagnosis/spike/turns.h"

#include <algorithm>

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

}  // namespace eroica

#include "diagnosis/regression/active_steps.h"

#include <algorithm>
#include <span>
#include <vector>

#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {

bool RunsInMostSteps(const CrossRankView& view, FunctionId function) {
  const FunctionColumn* column = view.FindFunction(function);
  if (column == nullptr) return false;
  std::vector<std::vector<double>> active(view.role_count());
  for (size_t i = 0; i < column->size(); ++i) {
    const RankView& rank = view.ranks()[column->rank[i]];
    const auto steps = static_cast<double>(rank.batch->steps.size());
    active[rank.role].push_back(steps > 0 ? column->pattern[i]->active_steps / steps : 0);
  }
  return std::ranges::any_of(active, [&](std::vector<double>& of_role) {
    return Median(std::span(of_role)) >= kMostSteps;
  });
}

}  // namespace eroica

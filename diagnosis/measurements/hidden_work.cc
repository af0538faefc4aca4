#include "diagnosis/measurements/hidden_work.h"

#include <algorithm>

namespace eroica {

double RunsForNs(const RankView& rank, FunctionId function) {
  const std::vector<FunctionPattern>& patterns = rank.batch->patterns;
  const auto row = std::ranges::lower_bound(patterns, function, {}, &FunctionPattern::function);
  return row != patterns.end() && row->function == function ? PerStep(rank.step, row->total_ns) : 0;
}

}  // namespace eroica

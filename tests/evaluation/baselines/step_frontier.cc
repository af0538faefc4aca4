#include "tests/evaluation/baselines/step_frontier.h"

#include <algorithm>

namespace eroica {

StepFrontier FrontierOf(const StepRow& row) {
  std::vector<int64_t> reached(row.size(), 0);
  StepFrontier frontier;
  int64_t before = 0;
  for (size_t stage = 0; stage < frontier.size(); ++stage) {
    FrontierAdvance& advance = frontier[stage];
    const std::vector<int64_t>& own_ns = row.stage_ns[stage];
    int64_t furthest = -1;
    int64_t second = -1;
    size_t leader = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      reached[i] += own_ns[i];
      if (reached[i] <= furthest) {
        second = std::max(second, reached[i]);
        continue;
      }
      second = furthest;
      furthest = reached[i];
      leader = i;
    }
    advance.leader = row.rank[leader];
    advance.own_ns = own_ns[leader];
    for (size_t i = 0; i < row.size(); ++i) {
      if (i != leader) advance.longest_other_ns = std::max(advance.longest_other_ns, own_ns[i]);
    }
    advance.increment_ns = furthest - before;
    advance.lead_ns = second < 0 ? advance.increment_ns : furthest - second;
    before = furthest;
  }
  return frontier;
}

}  // namespace eroica

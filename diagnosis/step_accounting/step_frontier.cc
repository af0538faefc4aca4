#include "diagnosis/step_accounting/step_frontier.h"

#include <algorithm>

namespace eroica {

StepFrontier FrontierOf(const StepRow& row) {
  std::vector<int64_t> reached(row.ranks.size(), 0);
  StepFrontier frontier;
  int64_t before = 0;
  for (size_t stage = 0; stage < frontier.size(); ++stage) {
    FrontierAdvance& advance = frontier[stage];
    int64_t furthest = -1;
    int64_t second = -1;
    size_t leader = 0;
    for (size_t i = 0; i < row.ranks.size(); ++i) {
      reached[i] += row.ranks[i].record.stage_ns[stage];
      if (reached[i] <= furthest) {
        second = std::max(second, reached[i]);
        continue;
      }
      second = furthest;
      furthest = reached[i];
      leader = i;
    }
    advance.leader = row.ranks[leader].rank;
    advance.own_ns = row.ranks[leader].record.stage_ns[stage];
    for (size_t i = 0; i < row.ranks.size(); ++i) {
      if (i != leader) advance.longest_other_ns = std::max(advance.longest_other_ns, row.ranks[i].record.stage_ns[stage]);
    }
    advance.increment_ns = furthest - before;
    advance.lead_ns = second < 0 ? advance.increment_ns : furthest - second;
    before = furthest;
  }
  return frontier;
}

}  // namespace eroica

#include "diagnosis/measurements/exchanged_bytes.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "diagnosis/measurements/exchange_line.h"
#include "diagnosis/measurements/lasting_excess.h"
#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 62;  // of what hostile payloads say

// Of one collective on the ranks of one role.
struct Exchange {
  std::vector<RankIndex> rank;
  std::vector<double> bytes;  // a step, likewise
};

std::vector<Exchange> ByRole(const CrossRankView& view, const FunctionColumn& column) {
  std::vector<Exchange> roles(view.role_count());
  for (size_t i = 0; i < column.size(); ++i) {
    const RankView& rank = view.ranks()[column.rank[i]];
    const uint64_t bytes = std::min(column.pattern[i]->bytes, kMostBytes);
    if (bytes == 0) continue;
    roles[rank.role].rank.push_back(column.rank[i]);
    roles[rank.role].bytes.push_back(PerStep(rank.step, static_cast<int64_t>(bytes)));
  }
  return roles;
}

// By role: the collective whose bytes differ most.
std::vector<Exchange> MostUneven(const CrossRankView& view) {
  std::vector<Exchange> uneven(view.role_count());
  std::vector<double> range(view.role_count(), kUnevenBytes);
  for (const FunctionColumn& column : view.functions()) {
    if (column.sample->function_class != FunctionClass::kCollective) continue;
    std::vector<Exchange> roles = ByRole(view, column);
    for (size_t role = 0; role < roles.size(); ++role) {
      if (roles[role].bytes.size() < 2) continue;
      const double of_role = RelativeRange(roles[role].bytes);
      if (of_role <= range[role]) continue;
      range[role] = of_role;
      uneven[role] = std::move(roles[role]);
    }
  }
  return uneven;
}

}  // namespace

RankTimes ExchangedOf(const CrossRankView& view) {
  constexpr double kStepNs = 1e9;
  RankTimes exchanged = NobodysTimes(view);
  for (const Exchange& exchange : MostUneven(view)) {
    std::vector<double> ordered = exchange.bytes;
    const double usual = Median(std::span(ordered));
    for (size_t i = 0; i < exchange.rank.size(); ++i) {
      const double share = std::min(exchange.bytes[i] / usual, 2.0);
      exchanged.rows.push_back({.rank = view.ranks()[exchange.rank[i]].rank.value,
                                .busy_ns = static_cast<float>(kStepNs * share / 2),
                                .wait_ns = static_cast<float>(kStepNs * (1 - share / 2))});
    }
  }
  std::ranges::sort(exchanged.rows, {}, &RankTime::rank);
  return exchanged;
}

}  // namespace eroica

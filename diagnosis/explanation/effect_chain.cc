#include "diagnosis/explanation/effect_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>

#include "diagnosis/report/duration_text.h"

namespace eroica {
namespace {

// One rank's waiting for another.
struct Wait {
  RankId waiting;
  RankId awaited;
  int64_t wait_ns = 0;
  std::string where;
};

std::string NameOf(const CollectiveSummary& summary) {
  if (!summary.communicator_description.empty()) return summary.communicator_description;
  return summary.communicator_name.empty() ? fmt::format("{:016x}", summary.communicator.value)
                                           : summary.communicator_name;
}

// On a communicator the others waited for whoever caused the most waiting there.
void AddCollectiveWaits(const CollectiveSummary& summary, std::vector<Wait>& waits) {
  const auto last = std::max_element(summary.members.begin(), summary.members.end(),
                                     [](const MemberSummary& a, const MemberSummary& b) {
                                       return a.caused_wait_ns < b.caused_wait_ns;
                                     });
  if (last == summary.members.end() || last->caused_wait_ns <= 0) return;
  for (const MemberSummary& member : summary.members) {
    if (member.rank == last->rank || member.exposed_wait_ns <= 0) continue;
    waits.push_back({member.rank, last->rank, member.exposed_wait_ns,
                     fmt::format("in collectives of communicator {}", NameOf(summary))});
  }
}

std::vector<Wait> CollectWaits(const CrossRankView& view) {
  std::vector<Wait> waits;
  for (const CollectiveSummary& summary : view.summaries()) {
    AddCollectiveWaits(summary, waits);
    for (const PairSummary& pair : summary.pairs) {
      if (pair.receive_wait_ns > 0)
        waits.push_back({pair.destination, pair.source, pair.receive_wait_ns, "in receives"});
    }
  }
  std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) {
    if (a.wait_ns != b.wait_ns) return a.wait_ns > b.wait_ns;
    return a.waiting != b.waiting ? a.waiting < b.waiting : a.where < b.where;
  });
  return waits;
}

}  // namespace

std::vector<Effect> FollowEffects(const CrossRankView& view, RankId culprit) {
  const std::vector<Wait> waits = CollectWaits(view);
  std::vector<Effect> chain;
  std::set<RankId> reached{culprit};
  std::deque<RankId> next{culprit};
  while (!next.empty() && chain.size() < kMaxEffects) {
    const RankId awaited = next.front();
    next.pop_front();
    for (const Wait& wait : waits) {
      if (wait.awaited != awaited || chain.size() == kMaxEffects ||
          !reached.insert(wait.waiting).second)
        continue;
      chain.push_back(
          {.rank = static_cast<int32_t>(wait.waiting.value),
           .description = fmt::format("rank {} waits {} for rank {} {}", wait.waiting.value,
                                      DurationText(static_cast<double>(wait.wait_ns)),
                                      awaited.value, wait.where),
           .lost_ns = wait.wait_ns});
      next.push_back(wait.waiting);
    }
  }
  return chain;
}

}  // namespace eroica

#include "diagnosis/slow_transfer/exposed_transfer.h"

#include <algorithm>
#include <map>

#include "diagnosis/mean_step.h"

namespace eroica {
namespace {

struct Waits {
  double in_pairs_ns = 0;  // in sends and receives
  double for_late_ns = 0;  // in collectives
};

std::map<RankId, Waits> WaitsOf(const CrossRankView& view) {
  std::map<RankId, Waits> waits;
  for (const CollectiveSummary& summary : view.summaries()) {
    for (const MemberSummary& member : summary.members)
      waits[member.rank].for_late_ns += static_cast<double>(member.exposed_wait_ns);
    for (const PairSummary& pair : summary.pairs) {
      waits[pair.destination].in_pairs_ns += static_cast<double>(pair.receive_wait_ns);
      waits[pair.source].in_pairs_ns += static_cast<double>(pair.send_wait_ns);
    }
  }
  return waits;
}

}  // namespace

std::vector<ExposedTransfer> FindExposedTransfers(const CrossRankView& view) {
  std::map<RankId, Waits> waits = WaitsOf(view);
  std::vector<ExposedTransfer> transfers;
  for (const RankView& rank : view.ranks()) {
    if (!rank.has_steps()) continue;
    const MeanStep& mean = rank.step;
    const Waits& own = waits[rank.rank];
    transfers.push_back({.rank = rank.rank,
                         .step_ns = mean.duration_ns,
                         .exposed_ns = std::max(0.0, mean.wait_ns - own.in_pairs_ns / mean.steps),
                         .late_ns = own.for_late_ns / mean.steps});
  }
  return transfers;
}

}  // namespace eroica

#include "diagnosis/bounded_times.h"

#include <algorithm>

namespace eroica {
namespace {

template <typename... Times>
void Bound(Times&... times) {
  ((times = std::min(times, kLongestTimeNs)), ...);
}

}  // namespace

void BoundTimes(PatternBatch* batch) {
  for (StepRecord& step : batch->steps) {
    Bound(step.duration_ns, step.peer_wait_ns);
    for (int64_t& stage_ns : step.stage_ns) Bound(stage_ns);
  }
  for (FunctionPattern& row : batch->patterns) {
    Bound(row.total_ns, row.critical_ns, row.duration_min_ns, row.duration_max_ns);
    row.duration_mean_ns = std::min(row.duration_mean_ns, static_cast<double>(kLongestTimeNs));
  }
  for (int64_t& folded_ns : batch->folded_critical_ns) Bound(folded_ns);
  for (ConnectionPattern& connection : batch->connections) Bound(connection.busy_ns);
}

void BoundTimes(CollectiveSummary* summary) {
  Bound(summary->transfer_ns);
  for (MemberSummary& member : summary->members) {
    Bound(member.wait_ns, member.exposed_wait_ns, member.lateness_ns, member.caused_wait_ns);
    for (Blocker& blocker : member.blockers) Bound(blocker.caused_wait_ns, blocker.run_ns);
  }
  for (PairSummary& pair : summary->pairs) Bound(pair.receive_wait_ns, pair.send_wait_ns);
}

void BoundTimes(RankStanding* standing) {
  Bound(standing->step_mean_ns);
  for (ConnectionSample& sample : standing->connections) Bound(sample.busy_ns);
}

}  // namespace eroica

#include "diagnosis/slow_rank/untold_work.h"

#include <fmt/format.h>

#include "diagnosis/duration_text.h"
#include "diagnosis/held_up.h"

namespace eroica {
namespace {

uint64_t MissingOf(const PatternBatch& batch) {
  return batch.completeness.lost + batch.completeness.late;
}

}  // namespace

bool LacksTheCause(const CrossRankView& view, const BusyTime& busy) {
  constexpr double kFactor = 2;  // events that are lost may be longer than others
  const PatternBatch& batch = *view.ranks()[busy.rank].batch;
  const auto missing = static_cast<double>(MissingOf(batch));
  const double lost_share = missing / (missing + static_cast<double>(batch.completeness.events));
  return missing > 0 && busy.excess_ns > kFactor * lost_share * busy.step_ns;
}

Finding DescribeUntoldWork(const CrossRankView& view, const BusyTime& busy, double min_separation) {
  const RankView& rank = view.ranks()[busy.rank];
  const uint64_t missing = MissingOf(*rank.batch);
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = "undecided";
  finding.culprits = {CulpritOf(rank)};
  finding.victims = VictimsOf(view, busy);
  finding.evidence = {
      {"busy_time_per_step", "ns", busy.busy_ns, busy.peers_busy_ns, 0, busy.steps},
      {"wait_for_peers_per_step", "ns", busy.wait_ns, busy.step_ns - busy.peers_busy_ns, 0,
       busy.steps},
      {"excess_over_noise", "ratio", busy.separation(), 1, min_separation, busy.steps},
      {"slow_steps", "count", static_cast<double>(busy.slow_steps), 0, 0, busy.steps}};
  finding.lost_ns_per_step = busy.excess_ns;
  finding.confidence = 0.8 * busy.slow_steps / (busy.slow_steps + 1.0);
  finding.first_step = rank.batch->steps.front().id;
  finding.last_step = rank.batch->steps.back().id;
  const size_t held_up = finding.victims.size();
  finding.title = fmt::format(
      "Rank {} holds {} other rank{} up by {} a step ({} of {}): what it ran is not in its "
      "telemetry, which has gaps.",
      rank.rank.value, held_up, held_up == 1 ? "" : "s", DurationText(busy.excess_ns),
      PercentText(busy.share()), DurationText(busy.step_ns));
  finding.explanation = fmt::format(
      "Over {} steps rank {} was busy for {} a step and waited for others for {}; the {} other "
      "rank{} of its role {} busy for {} (median). "
      "The difference is {:.1f} times what chance explains and shows in {} of {} steps. No "
      "function that it told of accounts for that.",
      busy.steps, rank.rank.value, DurationText(busy.busy_ns), DurationText(busy.wait_ns),
      busy.peers, busy.peers == 1 ? "" : "s", busy.peers == 1 ? "was" : "were",
      DurationText(busy.peers_busy_ns), busy.separation(), busy.slow_steps, busy.steps);
  finding.caveats = {fmt::format("Undecided which function: at least {} of this rank {} missing.",
                                 missing == 1 ? "1 event" : fmt::format("{} events", missing),
                                 missing == 1 ? "is" : "are")};
  finding.suggested_action = fmt::format(
      "Capture the trace of {} again, whole and with Python stacks: it tells what runs there.",
      PlaceOf(rank));
  return finding;
}

}  // namespace eroica

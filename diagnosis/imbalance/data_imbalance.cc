// The data half of ImbalanceOperator: ranks of one role that run the same functions, each for as
// long as its inputs are large.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "diagnosis/hypotheses/compute_growth.h"
#include "diagnosis/imbalance/imbalance_operator.h"
#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/measurements/cause_function.h"
#include "diagnosis/measurements/starvation.h"
#include "diagnosis/report/duration_text.h"

namespace eroica {
namespace {

using RoleTimes = std::vector<const BusyTime*>;  // of one role, idlest first

// Nobody is busiest who is not late in most steps: mostly that is seen before anything is sorted.
bool IsLate(const BusyTime& busy, const ImbalanceOptions& options) {
  return busy.steps >= options.min_steps && busy.share() >= options.min_data_share &&
         busy.p_value <= options.max_p_value &&
         busy.slow_steps >= options.min_data_steps * busy.steps;
}

// The one step up to the busiest is more than the whole spread may have: seen without sorting.
bool IsBusiestAlone(const RoleTimes& times, const ImbalanceOptions& options) {
  double idlest = std::numeric_limits<double>::infinity();
  double second = -idlest;
  double busiest = -idlest;
  for (const BusyTime* busy : times) {
    idlest = std::min(idlest, busy->busy_ns);
    second = std::max(second, std::min(busiest, busy->busy_ns));
    busiest = std::max(busiest, busy->busy_ns);
  }
  return busiest - second > options.max_data_gap * (busiest - idlest);
}

// By role; empty where the busiest is not late, or alone.
std::vector<RoleTimes> TimesByRole(const CrossRankView& view, const ImbalanceOptions& options) {
  std::vector<RoleTimes> roles(view.role_count());
  for (const BusyTime& busy : view.busy_times()) roles[busy.role].push_back(&busy);
  const auto idler = [](const BusyTime* a, const BusyTime* b) { return a->busy_ns < b->busy_ns; };
  for (RoleTimes& times : roles) {
    const auto busiest = std::max_element(times.begin(), times.end(), idler);
    const bool late = std::any_of(times.begin(), times.end(), [&](const BusyTime* busy) {
      return busy->busy_ns == (*busiest)->busy_ns && IsLate(*busy, options);
    });
    if (!late || IsBusiestAlone(times, options)) times.clear();
    std::sort(times.begin(), times.end(), idler);
  }
  return roles;
}

double LargestGap(const RoleTimes& times) {
  double gap = 0;
  for (size_t i = 1; i < times.size(); ++i)
    gap = std::max(gap, times[i]->busy_ns - times[i - 1]->busy_ns);
  return gap;
}

// The ranks are spread out evenly, and in the same way in every step: this is neither noise nor one
// rank alone.
bool IsGradual(const RoleTimes& times, const ImbalanceOptions& options) {
  const BusyTime& idlest = *times.front();
  const BusyTime& busiest = *times.back();
  const double spread = busiest.busy_ns - idlest.busy_ns;
  return IsLate(busiest, options) &&
         spread >= options.min_data_spread * times[times.size() / 2]->busy_ns &&
         LargestGap(times) <= options.max_data_gap * spread;
}

// A step.
double StarvedNsOf(const CrossRankView& view, const BusyTime& busy) {
  const PatternBatch& batch = *view.ranks()[busy.rank].batch;
  return CriticalStarvedNs(batch) / static_cast<double>(std::max<size_t>(1, batch.steps.size()));
}

// Ranks that crowd on fewer processors than others differ in what they wait for, not in what there
// is to do.
bool IsOfWaits(const CrossRankView& view, const RoleTimes& times) {
  constexpr double kMost = 0.5;
  const double spread = times.back()->busy_ns - times.front()->busy_ns;
  return StarvedNsOf(view, *times.back()) - StarvedNsOf(view, *times.front()) >= kMost * spread;
}

std::vector<Victim> VictimsOf(const CrossRankView& view, const RoleTimes& times) {
  std::vector<Victim> victims;
  const double most = times.back()->busy_ns;
  for (const BusyTime* busy : times) {
    const double lost = most - busy->busy_ns;
    if (lost <= 0) continue;
    victims.push_back({.rank = view.ranks()[busy->rank].rank,
                       .lost_ns = static_cast<int64_t>(lost * busy->steps),
                       .lost_ns_per_step = lost});
  }
  std::sort(victims.begin(), victims.end(),
            [](const Victim& a, const Victim& b) { return a.rank < b.rank; });
  return victims;
}

Finding Describe(const CrossRankView& view, const RoleTimes& times, const CauseFunction& cause,
                 const ImbalanceOptions& options) {
  const BusyTime& idlest = *times.front();
  const BusyTime& busiest = *times.back();
  const PatternBatch& batch = *view.ranks()[busiest.rank].batch;
  Finding finding;
  finding.kind = FindingKind::kImbalance;
  finding.subkind = "data";
  finding.victims = VictimsOf(view, times);
  finding.function = cause.name;
  finding.stack = cause.stack;
  finding.function_class = cause.function_class;
  finding.evidence = {
      {"busy_time_per_step", "ns", busiest.busy_ns, busiest.peers_busy_ns,
       busiest.peers_busy_ns + options.min_data_share * busiest.step_ns, busiest.steps},
      {"largest_gap_between_neighbours", "ratio",
       LargestGap(times) / (busiest.busy_ns - idlest.busy_ns), 0, options.max_data_gap,
       times.size()},
      {"function_time_per_step", "ns", cause.own_ns, cause.peers_ns, 0, busiest.peers},
      {"excess_foreign_to_peers", "ratio", cause.specificity, 0, options.max_data_specificity,
       busiest.peers},
  };
  finding.lost_ns_per_step = busiest.excess_ns;
  finding.first_step = batch.steps.front().id;
  finding.last_step = batch.steps.back().id;
  finding.confidence = 0.85 * busiest.slow_steps / (busiest.slow_steps + 1.0);
  finding.title = fmt::format(
      "Work is unevenly shared out over {} ranks of one role: from {} (rank {}) to {} (rank {}) a "
      "step of {}, all in the same functions.",
      times.size(), DurationText(idlest.busy_ns), view.ranks()[idlest.rank].rank.value,
      DurationText(busiest.busy_ns), view.ranks()[busiest.rank].rank.value,
      DurationText(busiest.step_ns));
  finding.explanation = fmt::format(
      "Busy time grows gradually from rank to rank, in {} of {} steps, and the busiest rank runs "
      "what its peers run, only longer: {} takes it {}, its peers {}. That is the size of the "
      "inputs, not a machine.",
      busiest.slow_steps, busiest.steps, cause.name, DurationText(cause.own_ns),
      DurationText(cause.peers_ns));
  finding.suggested_action = "Balance the inputs: batch by length, or shuffle samples over ranks.";
  return finding;
}

}  // namespace

void ImbalanceOperator::EvaluateData(const CrossRankView& view,
                                     std::vector<Finding>& findings) const {
  for (const RoleTimes& times : TimesByRole(view, options_)) {
    if (times.size() < 3 || !IsGradual(times, options_) || IsOfWaits(view, times)) continue;
    const BusyTime& busiest = *times.back();
    if (MeasureComputeGrowth(view, busiest).cause != GrowthCause::kUnclear)
      continue;  // kernels tell more than busy times
    const std::optional<CauseFunction> cause =
        FindCauseFunction(view, busiest.rank, busiest.excess_ns, CauseOptions{});
    if (cause && cause->specificity <= options_.max_data_specificity)
      findings.push_back(Describe(view, times, *cause, options_));
  }
}

}  // namespace eroica

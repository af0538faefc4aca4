#include "diagnosis/spike/spike_operator.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "diagnosis/busy_time.h"
#include "diagnosis/duration_text.h"
#include "diagnosis/robust_statistics.h"
#include "diagnosis/shared_cause.h"

namespace eroica {
namespace {

// What is noise of a window's mean is more by that root in a step.
double SpikeOverNoise(const BusyTime& busy) { return busy.separation() * std::sqrt(static_cast<double>(busy.steps)); }

Finding Describe(const CrossRankView& view, const BusyTime& busy, const std::optional<CauseFunction>& cause, const std::string& like,
                 const SpikeOptions& options) {
  const RankView& rank = view.ranks()[busy.rank];
  const double spike_ns = busy.excess_ns * busy.steps / busy.slow_steps;
  const std::string how_many = busy.slow_steps == 1 ? "one" : fmt::format("{}", busy.slow_steps);
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = kTransient;
  finding.culprits = {{.rank = static_cast<int32_t>(rank.rank.value), .host = rank.batch->host, .device = rank.batch->device}};
  finding.lost_ns_per_step = busy.excess_ns;
  finding.first_step = rank.batch->steps.front().id;
  finding.last_step = rank.batch->steps.back().id;
  finding.confidence = 0.7;
  finding.evidence = {
      {"busy_time_per_step", "ns", busy.busy_ns, busy.peers_busy_ns, busy.peers_busy_ns + options.min_share * busy.step_ns, busy.steps},
      {"excess_over_noise", "ratio", SpikeOverNoise(busy), 1, options.min_separation, busy.steps},
      {"slow_steps", "count", static_cast<double>(busy.slow_steps), 0, 0, busy.steps},
      {"excess_without_slowest_step", "ns", busy.lasting_ns, 0, options.max_lasting * busy.excess_ns, busy.steps},
  };
  std::string where = "in no function that stands out";
  if (cause) {
    finding.function = cause->name;
    finding.stack = cause->stack;
    finding.function_class = cause->function_class;
    finding.evidence.push_back({"function_time_per_step", "ns", cause->own_ns, cause->peers_ns, 0, busy.peers});
    where = "in " + cause->name;
  }
  finding.title = fmt::format("Rank {} is slow in single steps, by {} in {} of the last {}, and well in between; that time goes by {}.",
                              rank.rank.value, DurationText(spike_ns), how_many, busy.steps, where);
  finding.explanation = fmt::format(
      "A step of rank {} held the others up by {}, {:.0f} times what chance explains of a step; in the others the rank is {}. "
      "It has happened to this rank more often than accidents would hit any one rank.",
      rank.rank.value, DurationText(spike_ns), SpikeOverNoise(busy), like);
  finding.suggested_action = fmt::format(
      "Look at what visits rank {} at times: a job of the host, the device's clocks and temperature, retries; a fault may be about to "
      "come. "
      "Watch whether it becomes more frequent.",
      rank.rank.value);
  finding.caveats.push_back("Transient: most steps are well.");
  return finding;
}

double BusyNs(const StepRecord& step) { return static_cast<double>(step.duration_ns - step.peer_wait_ns); }

using MedianSteps = std::map<int64_t, double>;  // ns, by step

// Over the ranks of the role.
MedianSteps MedianStepsOf(const CrossRankView& view, uint32_t role) {
  std::map<int64_t, std::vector<double>> busy;
  for (const RankView& rank : view.ranks()) {
    if (rank.role != role || rank.batch->silent) continue;
    for (const StepRecord& step : rank.batch->steps) busy[step.id].push_back(BusyNs(step));
  }
  MedianSteps medians;
  for (auto& [id, of_step] : busy) medians.emplace(id, Median(std::span(of_step)));
  return medians;
}

// Whether the rank's slowest step is longer for all ranks of the role, by half of what the rank is late by and more: what all do in it takes one rank longer
// than the other, as everything does. Garbage that is collected on all ranks at once is such a thing.
bool IsLongForAll(const PatternBatch& batch, const MedianSteps& medians) {
  double excess_ns = 0;
  double median_ns = 0;  // of that step
  for (const StepRecord& step : batch.steps) {
    const double common_ns = medians.at(step.id);
    if (BusyNs(step) - common_ns <= excess_ns) continue;
    excess_ns = BusyNs(step) - common_ns;
    median_ns = common_ns;
  }
  std::vector<double> usual;
  for (const auto& [id, common_ns] : medians) usual.push_back(common_ns);
  return 2 * (median_ns - Median(std::span(usual))) >= excess_ns;
}

// Of a rank without peers: it is like its other steps otherwise, and no other rank is slow in the same ones.
BusyTime AsBusyTime(const CrossRankView& view, const LoneSpike& spike) {
  BusyTime busy{.rank = spike.rank, .role = view.ranks()[spike.rank].role, .steps = spike.steps, .peers = spike.others};
  busy.step_ns = spike.step_ns;
  busy.busy_ns = spike.busy_ns;
  busy.wait_ns = spike.step_ns - spike.busy_ns;
  busy.peers_busy_ns = spike.usual_ns;
  busy.excess_ns = spike.excess_ns;
  busy.slow_steps = spike.slow_steps;
  if (spike.steps > 1) busy.lasting_ns = (spike.excess_ns * spike.steps - spike.largest_ns) / (spike.steps - 1);
  busy.noise_ns = spike.excess_ns * std::sqrt(static_cast<double>(spike.steps)) / spike.separation;
  return busy;
}

}  // namespace

void SpikeOperator::EvaluateLone(const CrossRankView& view, std::vector<Finding>& findings) const {
  CauseOptions of_any = options_.cause;
  of_any.peers_of_any_role = true;
  for (const LoneSpike& spike : FindLoneSpikes(view, options_.lone)) {
    if (spike.excess_ns < options_.min_share * spike.step_ns) continue;
    const std::optional<CauseFunction> cause = FindCauseFunction(view, spike.rank, spike.excess_ns, of_any);
    findings.push_back(
        Describe(view, AsBusyTime(view, spike), cause, fmt::format("as usual, and so are {} others in this one", spike.others), options_));
  }
}

void SpikeOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  if (static_cast<double>(view.ranks().size()) < options_.min_ranks_seen * view.world_size()) return;
  std::map<uint32_t, MedianSteps> medians_of_role;
  for (const BusyTime& busy : view.busy_times()) {
    if (busy.steps < options_.min_steps || busy.share() < options_.min_share || SpikeOverNoise(busy) < options_.min_separation) continue;
    if (busy.lasting_ns >= options_.max_lasting * busy.excess_ns || busy.slow_steps != 1) continue;
    const auto [medians, fresh] = medians_of_role.try_emplace(busy.role);
    if (fresh) medians->second = MedianStepsOf(view, busy.role);
    if (IsLongForAll(*view.ranks()[busy.rank].batch, medians->second)) continue;
    std::optional<CauseFunction> cause = FindCauseFunction(view, busy.rank, busy.excess_ns, options_.cause);
    if (!cause) cause = FindCauseClass(view, busy.rank, busy.excess_ns, options_.cause);
    findings.push_back(Describe(view, busy, cause, fmt::format("like its {} peers", busy.peers), options_));
  }
  EvaluateLone(view, findings);
}

}  // namespace eroica

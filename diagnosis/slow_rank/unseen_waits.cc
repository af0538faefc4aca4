#include "diagnosis/slow_rank/unseen_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/measurements/sampled_stacks.h"
#include "diagnosis/measurements/seen_waits.h"
#include "diagnosis/measurements/stack_frames.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/held_up.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

struct Difference {
  const BusyTime* busy = nullptr;
  CauseFunction function;
  uint32_t active_steps = 0;
};

const FunctionPattern* PatternOf(const PatternBatch& batch, FunctionId function) {
  const auto found = std::ranges::find(batch.patterns, function, &FunctionPattern::function);
  return found == batch.patterns.end() ? nullptr : &*found;
}

// Regions are measured, not sampled.
bool IsSampledNoise(const PatternBatch& batch, const FunctionPattern& leaf,
                    const CauseFunction& function, double min_errors) {
  const bool is_region = leaf.stack.empty() && !IsPythonCall(leaf.name);
  if (is_region || !IsSeenInStacks(leaf)) return false;
  const auto steps = static_cast<double>(batch.steps.size());
  return SamplingErrorsBetween(function.own_ns * steps, function.peers_ns * steps,
                               SampleNs(batch)) < min_errors;
}

// Waits for a processor are no function of the rank. Without its waits for peers it is not known
// for how long it needed one.
std::optional<Difference> DifferenceOf(const CrossRankView& view, const BusyTime& busy,
                                       const UnseenWaitsOptions& options) {
  const PatternBatch& batch = *view.ranks()[busy.rank].batch;
  if (busy.steps < options.min_steps || busy.peers < options.min_peers) return std::nullopt;
  const double largest_ns = LargestExcessOverPeers(view, busy.rank, options.cause);
  if (largest_ns < options.min_share * busy.step_ns) return std::nullopt;
  const std::optional<CauseFunction> function =
      FindCauseFunction(view, busy.rank, largest_ns, options.cause);
  if (!function || function->specificity < options.min_specificity) return std::nullopt;
  if (function->excess_ns() < options.min_share * busy.step_ns) return std::nullopt;
  const FunctionPattern* leaf = PatternOf(batch, function->leaf);
  if (leaf == nullptr || IsStarvation(function->name)) return std::nullopt;
  if (leaf->active_steps < options.min_active_steps * busy.steps) return std::nullopt;
  if (IsSampledNoise(batch, *leaf, *function, options.min_sampling_errors)) return std::nullopt;
  return Difference{&busy, *function, leaf->active_steps};
}

// Whether the other ranks' steps are as long, as where all wait for each other.
std::string StepsText(const CrossRankView& view, const BusyTime& busy, double excess_ns) {
  std::vector<double> others;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const MeanStep& step = view.ranks()[i].step;
    if (i != busy.rank && step.steps > 0) others.push_back(step.duration_ns);
  }
  const double theirs_ns = others.empty() ? busy.step_ns : Median(std::span(others));
  if (2 * (busy.step_ns - theirs_ns) >= excess_ns)
    return fmt::format(
        "The steps of the other ranks take {} (median), as in a job whose ranks do not wait for "
        "each other.",
        DurationText(theirs_ns));
  return fmt::format(
      "All ranks have steps of about {}, as in a job whose ranks wait for each other, and nothing "
      "of what they run is known as such a wait.",
      DurationText(busy.step_ns));
}

Finding Describe(const CrossRankView& view, const Difference& difference,
                 const UnseenWaitsOptions& options) {
  const BusyTime& busy = *difference.busy;
  const CauseFunction& function = difference.function;
  const RankView& rank = view.ranks()[busy.rank];
  const double share = function.excess_ns() / busy.step_ns;
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = kUnseenWaits;
  finding.culprits = {CulpritOf(rank)};
  finding.function = function.name;
  finding.stack = function.stack;
  finding.function_class = function.function_class;
  finding.lost_ns_per_step = function.excess_ns();
  finding.confidence = 0.7;
  finding.first_step = rank.batch->steps.front().id;
  finding.last_step = rank.batch->steps.back().id;
  finding.evidence = {
      {"function_time_per_step", "ns", function.own_ns, function.peers_ns,
       function.peers_ns + options.min_share * busy.step_ns, busy.peers},
      {"active_steps", "steps", static_cast<double>(difference.active_steps), 0, 0, busy.steps},
      {std::string(kSeenInWindows), "windows", 1, 0, static_cast<double>(options.windows), 1}};
  finding.title = fmt::format(
      "Rank {} spends {} of each step of {} ({}) in {}, its peers {}: no collective was seen, so "
      "it is not known which rank waits for which.",
      rank.rank.value, DurationText(function.own_ns), DurationText(busy.step_ns),
      PercentText(share), function.name, DurationText(function.peers_ns));
  finding.explanation = fmt::format(
      "{} In {} of {} steps this rank runs what its {} peers hardly run.",
      StepsText(view, busy, function.excess_ns()), difference.active_steps, busy.steps, busy.peers);
  finding.suggested_action = fmt::format(
      "Look at {} on {}. eroica.collective() round the call that waits for the other ranks would "
      "tell whether they wait for this one.",
      function.name, PlaceOf(rank));
  return finding;
}

}  // namespace

std::vector<Finding> FindUnseenWaits(const CrossRankView& view, const UnseenWaitsOptions& options) {
  std::vector<Finding> findings;
  if (std::ranges::any_of(view.ranks(),
                          [](const RankView& rank) { return SeesWaits(*rank.batch); }))
    return findings;
  std::map<uint32_t, std::vector<Difference>> roles;
  for (const BusyTime& busy : view.busy_times()) {
    if (std::optional<Difference> difference = DifferenceOf(view, busy, options))
      roles[busy.role].push_back(*std::move(difference));
  }
  for (const auto& [role, differences] : roles) {
    if (2 * differences.size() >= differences.front().busy->peers + 1) continue;
    for (const Difference& difference : differences)
      findings.push_back(Describe(view, difference, options));
  }
  return findings;
}

}  // namespace eroica

#include "diagnosis/imbalance/imbalance_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/imbalance/stage_work.h"
#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/symptom.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/held_up.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

std::string RanksText(const CrossRankView& view, const std::vector<RankIndex>& members) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(members.size(), 8); ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", view.ranks()[members[i]].rank.value);
  }
  if (members.size() > 8) text += fmt::format(" and {} more", members.size() - 8);
  return text;
}

// What the heaviest stage spends most work in; of those that take about as much the first by name,
// so that it is the same one in all windows.
const FunctionPattern* HeaviestFunction(const PatternBatch& batch) {
  constexpr double kAbout = 0.9;
  double most_ns = 0;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (IsWork(pattern)) most_ns = std::max(most_ns, static_cast<double>(pattern.critical_ns));
  }
  const FunctionPattern* heaviest = nullptr;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (!IsWork(pattern) || static_cast<double>(pattern.critical_ns) < kAbout * most_ns) continue;
    if (heaviest == nullptr || pattern.name < heaviest->name) heaviest = &pattern;
  }
  return heaviest;
}

std::vector<Victim> VictimsOf(const CrossRankView& view, const StageWork& heavy, double excess_ns) {
  std::vector<Victim> victims;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const MeanStep& mean = view.ranks()[i].step;
    if (view.ranks()[i].role == heavy.role || mean.steps == 0) continue;
    const double lost = std::min(mean.wait_ns, excess_ns);
    victims.push_back({.rank = view.ranks()[i].rank,
                       .lost_ns = static_cast<int64_t>(lost * mean.steps),
                       .lost_ns_per_step = lost});
  }
  return victims;
}

std::vector<Culprit> MembersOf(const CrossRankView& view, const StageWork& stage) {
  std::vector<Culprit> culprits;
  for (const RankIndex member : stage.members) culprits.push_back(CulpritOf(view.ranks()[member]));
  return culprits;
}

// Why the layers of a stage take longer.
enum class HeavyReason : uint8_t { kUnclear, kLayers, kClock, kDevice };

// steady: as heavy in every step, as layers are. What comes and goes may be heat, or load.
HeavyReason ReasonOf(const StageLayers& layers, size_t members, bool steady) {
  if (layers.beside_experts) return HeavyReason::kLayers;
  const DeviceCauses causes(layers.changes(members, steady ? 1 : 0), steady ? kOddsOfSlowStage : 1);
  if (causes.is_more_work()) return HeavyReason::kLayers;
  if (!causes.is_device()) return HeavyReason::kUnclear;
  const std::optional<DeviceCause> cause = causes.decided();
  if (cause == DeviceCause::kLowClock) return HeavyReason::kClock;
  return cause == DeviceCause::kPauses ? HeavyReason::kUnclear : HeavyReason::kDevice;
}

// In every call, on every member and in every step, and not in the optimizer: pauses lengthen some
// calls, heat lengthens all kernels, and events that are lost make stages lighter. What is left is
// work, of which a second window says no more. Median calls tell longer layers, counts tell more of
// them.
bool IsInEveryCall(const StageLayers& layers, bool steady) {
  constexpr double kMost = 0.75;
  constexpr double kQuarter = 0.25;
  if (!steady || !layers.typical_growth || !layers.parameter_growth ||
      layers.least < kMost * layers.growth)
    return false;
  const double by_call = (1 + *layers.typical_growth) * (1 + layers.calls_growth) - 1;
  return by_call >= kMost * layers.growth &&
         std::abs(*layers.parameter_growth) <= kQuarter * layers.growth;
}

// What is said of a stage by its layers: too many of them, or devices that are slow.
Finding DescribeLayers(const CrossRankView& view, const StageWork& heavy, const StageLayers& layers,
                       HeavyReason reason) {
  const bool slow_device = reason != HeavyReason::kLayers;
  const PatternBatch& batch = *view.ranks()[heavy.members.front()].batch;
  const double excess = layers.excess_ns();
  Finding finding;
  finding.kind = slow_device ? FindingKind::kSlowRank : FindingKind::kImbalance;
  finding.subkind = slow_device ? std::string(kWholeRank) : "stage";
  finding.victims = VictimsOf(view, heavy, excess);
  finding.function_class = FunctionClass::kGpuCompute;
  finding.function = slow_device ? "every gpu_compute function" : "every kernel that works on data";
  finding.evidence = {
      {"layer_kernels_per_step", "ns", layers.others_ns + excess, layers.others_ns, 0, heavy.steps},
      {"layers_longer", "ratio", layers.growth, 0, 0, layers.kernels},
      {"layers_longer_on_three_quarters", "ratio", layers.least, 0, layers.growth / 2,
       heavy.members.size()}};
  if (layers.clock_growth)
    finding.evidence.push_back(
        {"clock_and_use", "ratio", 1 + *layers.clock_growth, 1, 0, heavy.members.size()});
  finding.lost_ns_per_step = excess;
  finding.first_step = batch.steps.front().id;
  finding.last_step = batch.steps.back().id;
  finding.confidence = 0.85 * heavy.steps / (heavy.steps + 1.0);
  const std::string stage =
      fmt::format("Pipeline {} (ranks {})", heavy.name, RanksText(view, heavy.members));
  const std::string times =
      fmt::format("{} instead of {} a step, of {}", DurationText(layers.others_ns + excess),
                  DurationText(layers.others_ns), DurationText(heavy.step_ns));
  if (layers.parameter_growth)
    finding.evidence.push_back(
        {"optimizer_longer", "ratio", *layers.parameter_growth, 0, 0, heavy.members.size()});
  if (slow_device) {
    finding.culprits = MembersOf(view, heavy);
    finding.title = fmt::format(
        "All devices of {} are slow: kernels that every stage runs take {} longer there ({}).",
        stage, PercentText(layers.growth), times);
    const std::string why =
        reason == HeavyReason::kClock
            ? fmt::format(
                  "Their SM clock and use lie {} below the other stages': that is the cause.",
                  PercentText(-layers.clock_growth.value_or(0)))
            : fmt::format(
                  "The optimizer is slower, too ({}), and no kernel is called more often, so that "
                  "it is not the layers. Whether they run at a lower clock or somebody else uses "
                  "them is undecided; {} would decide.",
                  PercentText(layers.parameter_growth.value_or(0)),
                  layers.clock_growth ? "a list of the processes there"
                                      : "samples of the SM clock");
    finding.explanation =
        fmt::format("{} All {} ranks of the stage show it.", why, heavy.members.size());
    finding.suggested_action =
        "Look at what these devices share: power, cooling, a limit that was set, an older model.";
    return finding;
  }
  finding.title =
      fmt::format("{} is too heavy: the kernels that every stage runs take {} longer there ({}).",
                  stage, PercentText(layers.growth), times);
  finding.explanation = fmt::format(
      "Three quarters of the {} ranks of the stage show it by {} and more, in {} kernels, so "
      "no rank or machine is slow: it has more "
      "layers than the others, or longer ones. Embedding, head and loss, which only one stage has, "
      "are not counted.",
      heavy.members.size(), PercentText(layers.least), layers.kernels);
  finding.suggested_action = "Move layers from this stage to the others.";
  if (!layers.clock_growth)
    finding.caveats.push_back(
        "Without samples of the SM clock slower devices of the whole stage would look the same.");
  return finding;
}

// A step, of a function of the thread that makes half of what the stage of one rank is longer, and
// that no other stage runs; 0 where it is none.
double OwnFunctionNs(const CrossRankView& view, const StageWork& heavy, const std::string& function,
                     double excess_ns) {
  if (heavy.members.size() != 1) return 0;
  double own_ns = 0;
  double most_of_others_ns = 0;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (!rank.has_steps()) continue;
    double ns = 0;
    for (const FunctionPattern& pattern : rank.batch->patterns) {
      if (pattern.name == function && pattern.function_class == FunctionClass::kPython)
        ns += PerStep(rank.step, pattern.critical_ns);
    }
    if (i == heavy.members.front()) {
      own_ns = ns;
    } else {
      most_of_others_ns = std::max(most_of_others_ns, ns);
    }
  }
  constexpr double kHardly = 10;  // times less
  return 2 * own_ns >= excess_ns && kHardly * most_of_others_ns <= own_ns ? own_ns : 0;
}

// What one stage alone runs has nothing to be compared with: it need not be layers.
void SayOwnFunction(RankId rank, const StageWork& heavy, double own_ns, double excess_ns,
                    Finding* finding) {
  finding->title = fmt::format(
      "Pipeline {} (rank {}) holds the other stages up by {} a step (of {}): it runs {} for {}, "
      "and "
      "no other stage does.",
      heavy.name, rank.value, DurationText(excess_ns), DurationText(heavy.step_ns),
      finding->function, DurationText(own_ns));
  finding->explanation =
      "No other stage runs it, so that nothing shows how long it should take: it belongs to this "
      "stage alone (input, head, loss), or it holds the stage up.";
  finding->suggested_action = fmt::format(
      "Look at {} there. If it belongs to the stage, move layers from this stage to the others.",
      finding->function);
}

Finding DescribeStage(const CrossRankView& view, const StageWork& heavy, double others_ns,
                      size_t stages, const ImbalanceOptions& options) {
  const PatternBatch& batch = *view.ranks()[heavy.members.front()].batch;
  const double excess = heavy.work_ns - others_ns;
  Finding finding;
  finding.kind = FindingKind::kImbalance;
  finding.subkind = "stage";
  finding.victims = VictimsOf(view, heavy, excess);
  if (const FunctionPattern* function = HeaviestFunction(batch)) {
    finding.function = function->name;
    finding.stack = function->stack;
    finding.function_class = function->function_class;
  }
  finding.evidence = {
      {"work_per_step", "ns", heavy.work_ns, others_ns, options.min_stage_ratio * others_ns,
       heavy.steps},
      {"work_ratio", "ratio", heavy.work_ns / others_ns, 1, options.min_stage_ratio, heavy.steps},
      {"stages", "count", 1, static_cast<double>(stages - 1),
       static_cast<double>(options.min_stages), stages},
  };
  finding.lost_ns_per_step = excess;
  finding.first_step = batch.steps.front().id;
  finding.last_step = batch.steps.back().id;
  finding.confidence = 0.9 * heavy.steps / (heavy.steps + 1.0);
  finding.title = fmt::format(
      "Pipeline {} (ranks {}) is too heavy: {} of work a step against {} on the other {} stages "
      "({:.2f} times), of a step of {}.",
      heavy.name, RanksText(view, heavy.members), DurationText(heavy.work_ns),
      DurationText(others_ns), stages - 1, heavy.work_ns / others_ns, DurationText(heavy.step_ns));
  finding.explanation = fmt::format(
      "All {} ranks of the stage carry the same load ({} at least), so no rank or machine is "
      "slow: the layers are shared out unevenly. The other stages wait for this one in every step.",
      heavy.members.size(), DurationText(heavy.least_ns));
  finding.suggested_action =
      "Move layers from this stage to the others (the last one also holds the head and the loss), "
      "or shard the head.";
  if (const double own_ns = OwnFunctionNs(view, heavy, finding.function, excess); own_ns > 0)
    SayOwnFunction(view.ranks()[heavy.members.front()].rank, heavy, own_ns, excess, &finding);
  return finding;
}

Finding DescribeVarying(const CrossRankView& view, const VaryingWork& work,
                        const VaryingWorkOptions& options) {
  // One window more shows that it goes on.
  constexpr double kWindows = 2;
  const auto first = std::ranges::find_if(view.ranks(), &RankView::has_steps);
  Finding finding;
  finding.kind = FindingKind::kImbalance;
  finding.subkind = kVarying;
  finding.function = "every kernel that works on data";
  finding.function_class = FunctionClass::kGpuCompute;
  finding.lost_ns_per_step = work.cost_ns;
  finding.first_step = first->batch->steps.front().id;
  finding.last_step = first->batch->steps.back().id;
  finding.confidence = 0.9 * work.steps / (work.steps + 1.0);
  finding.evidence = {
      {"wait_for_slowest_rank_per_step", "ns", work.cost_ns, 0, options.min_share * work.step_ns,
       work.steps},
      {"explained_by_kernels", "ratio", work.explained, 0, 0, work.ranks},
      {"p_value", "probability", work.p_value, 1, options.max_p_value, work.ranks},
      {"different_slowest_ranks", "count", static_cast<double>(work.slowest), 0, 0, work.steps},
      {std::string(kSeenInWindows), "count", 1, 0, kWindows, 1},
  };
  finding.title = fmt::format(
      "Work varies from step to step: each step lasts as long as its slowest rank, another one "
      "each time, which costs {} a step ({} of {}).",
      DurationText(work.cost_ns), PercentText(work.cost_ns / work.step_ns),
      DurationText(work.step_ns));
  finding.explanation = fmt::format(
      "In {} steps {} different ranks were the slowest one, and none of them for good. It is the "
      "kernels that work on data: {} of how much busier a rank was than in the window before goes "
      "with how much longer these took on it. So no rank and no machine is slow: micro-batches "
      "are of different lengths, or experts get other tokens each time.",
      work.steps, work.slowest, PercentText(work.explained));
  finding.suggested_action =
      "Batch samples by length, pack sequences, or share out the micro-batches of a step so that "
      "all ranks have as much to do.";
  finding.caveats.push_back(
      "Devices that stall within kernels, now this one and now that, look the same.");
  return finding;
}

// Whether the stage is busier than the median of the others by the same share in every step: layers
// make it so, heat, load and evaluations do not. In a step of longer sequences all stages are
// busier by as much, and the stage by as much more.
bool IsSteadilyBusier(std::span<const StageWork> stages, const StageWork& heavy, double excess_ns) {
  constexpr double kMostVariation = 0.25;  // of the excess
  std::vector<double> busier;
  std::vector<double> usual_ns;
  for (size_t step = 0; step < heavy.busy_ns.size(); ++step) {
    std::vector<double> others;
    for (const StageWork& stage : stages) {
      if (stage.role != heavy.role && step < stage.busy_ns.size())
        others.push_back(stage.busy_ns[step]);
    }
    usual_ns.push_back(Median(std::span(others)));
    if (usual_ns.back() <= 0) return false;
    busier.push_back(heavy.busy_ns[step] / usual_ns.back() - 1);
  }
  if (busier.empty()) return false;
  const auto [least, most] = std::ranges::minmax_element(busier);
  return (*most - *least) * Median(std::span(usual_ns)) <= kMostVariation * excess_ns;
}

}  // namespace

bool ImbalanceOperator::EvaluateLayers(const CrossRankView& view, std::span<const StageWork> stages,
                                       std::vector<Finding>& findings) const {
  // devices of one kind differ by so much, whole stages of them by less
  constexpr double kLeastSpread = 0.015;
  const std::optional<StageLayers> layers = FindHeavyLayers(view, stages);
  if (!layers) return false;
  const StageWork& heavy = stages[layers->stage];
  const double excess_ns = layers->excess_ns();
  if (heavy.steps < options_.min_steps ||
      layers->growth < options_.min_layer_gap * std::max(layers->spread, kLeastSpread))
    return false;
  if (excess_ns < options_.min_layer_share * heavy.step_ns ||
      layers->least < kHalf * layers->growth)
    return false;
  if (!IsHeavier(stages, heavy, *layers)) return false;
  const bool steady = IsSteadilyBusier(stages, heavy, excess_ns);
  const HeavyReason reason = ReasonOf(*layers, heavy.members.size(), steady);
  if (reason == HeavyReason::kUnclear) return false;
  findings.push_back(DescribeLayers(view, heavy, *layers, reason));
  // Devices that pause, and events that are lost, may hit one stage in one window; longer layers
  // come in every window.
  const int least_windows =
      reason == HeavyReason::kLayers && IsInEveryCall(*layers, steady) ? 1 : 2;
  findings.back().evidence.push_back(
      {std::string(kSeenInWindows), "count", 1, 0, static_cast<double>(least_windows), 1});
  return true;
}

// A stage that has more layers because the others have the head or the embedding is no heavier than
// they are. One whose layers are as many, and longer, need not be heavier than all that have
// either: its like is the lightest stage.
bool ImbalanceOperator::IsHeavier(std::span<const StageWork> stages, const StageWork& heavy,
                                  const StageLayers& layers) const {
  std::vector<double> others;
  for (const StageWork& stage : stages) {
    if (stage.role != heavy.role) others.push_back(stage.work_ns);
  }
  const double least_ns = *std::ranges::min_element(others);
  const double over_median_ns = heavy.work_ns - Median(std::span(others));
  const bool more_layers = layers.calls_growth >= kHalf * layers.growth;
  if (more_layers) return over_median_ns >= kHalf * layers.excess_ns();
  return over_median_ns > 0 && heavy.work_ns - least_ns >= options_.min_layer_share * heavy.step_ns;
}

void ImbalanceOperator::EvaluateStages(const CrossRankView& view,
                                       std::vector<Finding>& findings) const {
  constexpr double kErrors = 2;
  const std::vector<StageWork> stages = MeasureStages(view);
  if (EvaluateLayers(view, stages, findings) || stages.size() < options_.min_stages) return;
  const StageWork& heavy = *std::max_element(
      stages.begin(), stages.end(),
      [](const StageWork& a, const StageWork& b) { return a.work_ns < b.work_ns; });
  std::vector<double> others;
  std::vector<double> others_all;
  for (const StageWork& stage : stages) {
    if (stage.role == heavy.role) continue;
    others.push_back(stage.work_ns);
    others_all.push_back(stage.all_ns);
  }
  const auto [least, most] = std::minmax_element(others.begin(), others.end());
  const double others_ns = Median(std::span(others));
  const double spread = std::max(*most - *least, 0.02 * others_ns);
  const double excess = heavy.work_ns - others_ns;
  if (heavy.steps < options_.min_steps || others_ns <= 0 ||
      heavy.work_ns < options_.min_stage_ratio * others_ns)
    return;
  if (heavy.work_ns - kErrors * heavy.error_ns < options_.min_stage_ratio * others_ns) return;
  if (heavy.least_ns < options_.min_stage_ratio * others_ns)
    return;  // one member alone is heavy: that is a slow rank
  if (heavy.all_ns < options_.min_stage_ratio * Median(std::span(others_all)))
    return;  // its kernels alone may be: head and loss beside a single layer
  if (excess < options_.min_stage_gap * spread || excess < options_.min_stage_share * heavy.step_ns)
    return;
  findings.push_back(DescribeStage(view, heavy, others_ns, stages.size(), options_));
}

void ImbalanceOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  if (static_cast<double>(view.ranks().size()) < options_.min_ranks_seen * view.world_size())
    return;
  EvaluateStages(view, findings);
  if (!EvaluateGrowth(view, findings)) EvaluateData(view, findings);
  EvaluateVarying(view, findings);
}

void ImbalanceOperator::EvaluateVarying(const CrossRankView& view,
                                        std::vector<Finding>& findings) const {
  if (const std::optional<VaryingWork> work = FindVaryingWork(view, options_.varying))
    findings.push_back(DescribeVarying(view, *work, options_.varying));
}

}  // namespace eroica

#include "diagnosis/imbalance/stage_work.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/measurements/communication_call.h"
#include "diagnosis/measurements/device_kernels.h"
#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/sampled_stacks.h"
#include "diagnosis/measurements/symptom.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/statistics/peer_median.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

bool RolesAreStages(const CrossRankView& view) {
  for (const CollectiveSummary& summary : view.summaries()) {
    for (const PairSummary& pair : summary.pairs) {
      const RankView* source = view.FindRank(pair.source);
      const RankView* destination = view.FindRank(pair.destination);
      if (source != nullptr && destination != nullptr && source->role != destination->role)
        return true;
    }
  }
  return false;
}

// A step; of kernels, or of all work.
double WorkOf(const PatternBatch& batch, bool of_kernels) {
  int64_t work = 0;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (of_kernels ? IsKernel(pattern) : IsWork(pattern)) work += pattern.critical_ns;
  }
  for (int c = 0; c < kFunctionClassCount; ++c) {
    const auto function_class = static_cast<FunctionClass>(c);
    const bool counts = of_kernels ? function_class == FunctionClass::kGpuCompute
                                   : function_class != FunctionClass::kCollective;
    if (counts) work += batch.folded_critical_ns[static_cast<size_t>(c)];
  }
  return PerStep(batch, work);
}

// Standard error of a step's work where stacks are sampled, of all members together; 0 where
// functions are traced.
double ErrorOf(const CrossRankView& view, const StageWork& stage) {
  double variance = 0;
  double steps = 0;
  for (const RankIndex member : stage.members) {
    const PatternBatch& batch = *view.ranks()[member].batch;
    steps += static_cast<double>(batch.steps.size());
    for (const FunctionPattern& pattern : batch.patterns) {
      if (IsSeenInStacks(pattern))
        variance += static_cast<double>(pattern.critical_ns) * SampleNs(batch);
    }
  }
  return steps > 0 ? std::sqrt(variance) / steps : 0;
}

void MeasureStage(const CrossRankView& view, StageWork& stage) {
  std::vector<double> work;
  std::vector<double> all;
  double duration = 0;
  size_t steps = 0;
  for (const RankIndex member : stage.members) {
    const PatternBatch& batch = *view.ranks()[member].batch;
    // Layers are kernels, where there is a device: what the training thread is in meanwhile, and
    // what is copied, is no layer's.
    work.push_back(WorkOf(batch, ComputesOnDevice(batch)));
    all.push_back(WorkOf(batch, false));
    for (const StepRecord& step : batch.steps) duration += static_cast<double>(step.duration_ns);
    steps += batch.steps.size();
    stage.steps = std::max(stage.steps, static_cast<uint32_t>(batch.steps.size()));
  }
  std::vector<double> in_step;
  for (uint32_t step = 0; step < stage.steps; ++step) {
    in_step.clear();
    for (const RankIndex member : stage.members) {
      const std::vector<StepRecord>& records = view.ranks()[member].batch->steps;
      if (step < records.size())
        in_step.push_back(
            static_cast<double>(records[step].duration_ns - records[step].peer_wait_ns));
    }
    stage.busy_ns.push_back(Median(std::span(in_step)));
  }
  stage.least_ns = *std::min_element(work.begin(), work.end());
  stage.work_ns = Median(std::span(work));
  stage.all_ns = Median(std::span(all));
  stage.error_ns = ErrorOf(view, stage);
  stage.step_ns = duration / static_cast<double>(steps);
}

constexpr uint64_t kMostCalls = uint64_t{1} << 62;  // of what hostile payloads say

// One kernel on all stages.
struct SharedKernel {
  KernelBound bound = KernelBound::kUnknown;
  std::vector<double> ns;                       // a step; [stage], median over the members
  std::vector<double> calls;                    // likewise
  std::vector<double> median_ns;                // of a call; [stage], 0 where it is not known
  std::vector<double> mu;                       // [stage]; empty where one of them has no samples
  std::vector<std::vector<double>> of_members;  // [stage][member that ran it]
};

double MedianOf(std::vector<double> values) { return Median(std::span(values)); }

// Of two values or more.
double MedianOfOthers(const std::vector<double>& values, size_t left_out) {
  return PeerMedian(values).Without(values[left_out]);
}

// So little of its events is missing that what its functions took is what they took.
bool IsWhole(const PatternBatch& batch) {
  constexpr double kMostMissing = 0.01;
  const Completeness& completeness = batch.completeness;
  return static_cast<double>(completeness.lost + completeness.late) <=
         kMostMissing * static_cast<double>(completeness.events);
}

// Without the members of which events are missing. Nothing where that leaves fewer than half of a
// stage.
std::optional<std::vector<StageWork>> WholeMembers(const CrossRankView& view,
                                                   std::span<const StageWork> stages) {
  std::vector<StageWork> whole(stages.begin(), stages.end());
  for (StageWork& stage : whole) {
    const size_t members = stage.members.size();
    std::erase_if(stage.members,
                  [&view](RankIndex member) { return !IsWhole(*view.ranks()[member].batch); });
    if (2 * stage.members.size() < members || stage.members.empty()) return std::nullopt;
  }
  return whole;
}

// Kernels too small for rows are more than a third of what the median rank computes. Those that
// have rows are not typical then: where steps are mostly waiting these are the largest alone, which
// the head of the last stage runs as well as its layers do.
bool AreMostlyFolded(const CrossRankView& view, std::span<const StageWork> stages) {
  std::vector<double> shares;
  for (const StageWork& stage : stages) {
    for (const RankIndex member : stage.members) {
      const PatternBatch& batch = *view.ranks()[member].batch;
      const double all_ns = WorkOf(batch, true);
      const auto folded_ns =
          batch.folded_critical_ns[static_cast<size_t>(FunctionClass::kGpuCompute)];
      if (all_ns > 0) shares.push_back(PerStep(batch, folded_ns) / all_ns);
    }
  }
  return !shares.empty() && Median(std::span(shares)) > kThird;
}

// By position in the view's ranks; -1: of no stage.
std::vector<int> StageOfRanks(const CrossRankView& view, std::span<const StageWork> stages) {
  std::vector<int> stage_of(view.ranks().size(), -1);
  for (size_t s = 0; s < stages.size(); ++s) {
    for (const RankIndex member : stages[s].members) stage_of[member] = static_cast<int>(s);
  }
  return stage_of;
}

// Nothing where fewer than half of a stage's members ran it.
std::optional<SharedKernel> Share(const CrossRankView& view, const FunctionColumn& column,
                                  std::span<const StageWork> stages,
                                  const std::vector<int>& stage_of) {
  SharedKernel kernel;
  kernel.bound = BoundOf(column.sample->name);
  kernel.of_members.resize(stages.size());
  std::vector<std::vector<double>> mu(stages.size());
  std::vector<std::vector<double>> calls(stages.size());
  std::vector<std::vector<double>> medians(stages.size());
  for (size_t i = 0; i < column.size(); ++i) {
    const int stage = stage_of[column.rank[i]];
    if (stage < 0) continue;
    const FunctionPattern& pattern = *column.pattern[i];
    const MeanStep& step = view.ranks()[column.rank[i]].step;
    kernel.of_members[static_cast<size_t>(stage)].push_back(PerStep(step, pattern.critical_ns));
    calls[static_cast<size_t>(stage)].push_back(
        PerStep(step, static_cast<int64_t>(std::min(pattern.count, kMostCalls))));
    if (!pattern.histogram.empty())
      medians[static_cast<size_t>(stage)].push_back(
          static_cast<double>(pattern.histogram.Quantile(kHalf)));
    if (pattern.resource == Resource::kGpuSm && pattern.resource_samples > 0)
      mu[static_cast<size_t>(stage)].push_back(pattern.mu);
  }
  for (size_t s = 0; s < stages.size(); ++s) {
    if (2 * kernel.of_members[s].size() < stages[s].members.size() || kernel.of_members[s].empty())
      return std::nullopt;
    kernel.ns.push_back(MedianOf(kernel.of_members[s]));
    kernel.calls.push_back(MedianOf(std::move(calls[s])));
    kernel.median_ns.push_back(medians[s].empty() ? 0 : MedianOf(std::move(medians[s])));
    if (!mu[s].empty()) kernel.mu.push_back(MedianOf(std::move(mu[s])));
  }
  if (kernel.mu.size() < stages.size()) kernel.mu.clear();
  return kernel;
}

// Those on data, or those on parameters.
std::vector<SharedKernel> SharedKernels(const CrossRankView& view,
                                        std::span<const StageWork> stages, bool on_parameters) {
  const std::vector<int> stage_of = StageOfRanks(view, stages);
  std::vector<SharedKernel> kernels;
  for (const FunctionColumn& column : view.functions()) {
    if (column.sample->function_class != FunctionClass::kGpuCompute ||
        WorksOnParameters(column.sample->name) != on_parameters)
      continue;
    if (std::optional<SharedKernel> kernel = Share(view, column, stages, stage_of))
      kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

std::optional<double> Ratio(double own, double others) {
  return others > 0 ? std::optional(own / others - 1) : std::nullopt;
}

// Against the median of the others.
std::optional<double> CallsGrowth(const SharedKernel& kernel, size_t stage) {
  return Ratio(kernel.calls[stage], MedianOfOthers(kernel.calls, stage));
}

std::optional<double> CallGrowth(const SharedKernel& kernel, size_t stage) {
  return kernel.median_ns[stage] > 0
             ? Ratio(kernel.median_ns[stage], MedianOfOthers(kernel.median_ns, stage))
             : std::nullopt;
}

// How a stage compares with the others in the kernels that all run.
class StageComparison {
 public:
  StageComparison(const std::vector<SharedKernel>& kernels, size_t stage)
      : kernels_(kernels), stage_(stage) {}

  size_t stage() const { return stage_; }
  const std::vector<SharedKernel>& kernels() const { return kernels_; }

  // The others call it more often: they run something else with it, too (a head, whose calls are as
  // long as it likes).
  bool OthersHaveMore(const SharedKernel& kernel) const {
    constexpr double kMore = 0.05;
    const std::optional<double> calls = CallsGrowth(kernel, stage_);
    return calls && *calls < -kMore && CallGrowth(kernel, stage_);
  }

  // What the layers of the median other stage take in it, a step. Where the others have more, their
  // median call is a layer's, and they have as many of these as the stage.
  double UsualNs(const SharedKernel& kernel) const {
    return OthersHaveMore(kernel) ? kernel.ns[stage_] / (1 + *CallGrowth(kernel, stage_))
                                  : MedianOfOthers(kernel.ns, stage_);
  }

  // What two thirds of the kernel time reach of what `growth_of` says of each; weights are times.
  // Nothing where it says nothing of any.
  template <typename GrowthOf>
  std::optional<double> Typical(GrowthOf growth_of) const {
    std::vector<Weighted> growths;
    for (const SharedKernel& kernel : kernels_) {
      const std::optional<double> growth = growth_of(kernel);
      if (growth) growths.push_back({*growth, UsualNs(kernel)});
    }
    if (growths.empty()) return std::nullopt;
    return WeightedQuantile(std::span(growths), kThird);
  }

  double Growth() const {
    return Typical([this](const SharedKernel& kernel) {
             return Ratio(kernel.ns[stage_], UsualNs(kernel));
           })
        .value_or(0);
  }

  // Of a quarter of its members, those with the least of it.
  double LeastGrowth() const {
    return Typical([this](const SharedKernel& kernel) {
             std::vector<double> members = kernel.of_members[stage_];
             const auto quarter = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 4);
             std::ranges::nth_element(members, quarter);
             return Ratio(*quarter, UsualNs(kernel));
           })
        .value_or(0);
  }

  double MoreCalls() const {
    return Typical([this](const SharedKernel& kernel) {
             return OthersHaveMore(kernel) ? std::nullopt : CallsGrowth(kernel, stage_);
           })
        .value_or(0);
  }

  // How far the other stages lie apart in most of the kernels: what one of them has of its own, and
  // shares the name with a layer's, counts little.
  double SpreadOfOthers() const {
    return Typical([this](const SharedKernel& kernel) {
             std::vector<double> others = kernel.ns;
             others.erase(others.begin() + static_cast<std::ptrdiff_t>(stage_));
             const auto [least, most] = std::minmax_element(others.begin(), others.end());
             return Ratio(*most - *least + MedianOfOthers(kernel.ns, stage_),
                          MedianOfOthers(kernel.ns, stage_));
           })
        .value_or(0);
  }

 private:
  const std::vector<SharedKernel>& kernels_;
  size_t stage_;
};

std::optional<StageLayers> HeavyStage(const StageComparison& comparison) {
  const size_t stage = comparison.stage();
  StageLayers heavy{.stage = stage,
                    .growth = comparison.Growth(),
                    .least = comparison.LeastGrowth(),
                    .spread = comparison.SpreadOfOthers()};
  heavy.clock_growth = comparison.Typical([stage](const SharedKernel& kernel) {
    return kernel.mu.empty() ? std::nullopt
                             : Ratio(kernel.mu[stage], MedianOfOthers(kernel.mu, stage));
  });
  heavy.calls_growth = comparison.MoreCalls();
  for (const SharedKernel& kernel : comparison.kernels()) {
    const double usual_ns = comparison.UsualNs(kernel);
    const double calls =
        comparison.OthersHaveMore(kernel) ? 0 : CallsGrowth(kernel, stage).value_or(0);
    if (usual_ns > 0 && calls > -1)
      heavy.by_bound.Add(kernel.bound, kernel.ns[stage] / usual_ns / (1 + calls) - 1, usual_ns);
  }
  heavy.typical_growth =
      comparison.Typical([stage](const SharedKernel& kernel) { return CallGrowth(kernel, stage); });
  for (const SharedKernel& kernel : comparison.kernels()) {
    const double usual_ns = comparison.UsualNs(kernel);
    heavy.others_ns += usual_ns;
    if (kernel.ns[stage] >= (1 + kHalf * heavy.growth) * usual_ns) ++heavy.kernels;
  }
  return heavy.kernels < kFewestKernels ? std::nullopt : std::optional(heavy);
}

double TypicalGrowth(const std::vector<SharedKernel>& kernels, size_t stage) {
  return StageComparison(kernels, stage).Growth();
}

std::optional<StageLayers> Heaviest(const std::vector<SharedKernel>& kernels, size_t stages) {
  size_t heaviest = 0;
  for (size_t stage = 1; stage < stages; ++stage) {
    if (TypicalGrowth(kernels, stage) > TypicalGrowth(kernels, heaviest)) heaviest = stage;
  }
  return HeavyStage(StageComparison(kernels, heaviest));
}

// By how much the members of a stage differ in the kernel, relative to what it takes: the median
// stage.
double SpreadOfMembers(const SharedKernel& kernel) {
  std::vector<double> spreads;
  for (std::vector<double> members : kernel.of_members) {
    const MedianAndMad typical = TakeMedianAndMad(std::span(members));
    if (typical.median > 0) spreads.push_back(typical.mad / typical.median);
  }
  return spreads.empty() ? 0 : Median(std::span(spreads));
}

// Without those of experts, which work on the tokens of all ranks and not on those of the stage:
// members of a stage differ in them by four times as much as in what a third of the kernel time
// shows, and by a hundredth at least.
std::vector<SharedKernel> WithoutExperts(const std::vector<SharedKernel>& kernels) {
  constexpr double kTimesMore = 4;
  constexpr double kLeastSpread = 0.01;
  std::vector<Weighted> spreads;
  for (const SharedKernel& kernel : kernels)
    spreads.push_back({SpreadOfMembers(kernel), MedianOf(kernel.ns)});
  std::vector<Weighted> ordered = spreads;
  const double limit =
      std::max(kLeastSpread, kTimesMore * WeightedQuantile(std::span(ordered), kThird));
  std::vector<SharedKernel> dense;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (spreads[i].value < limit) dense.push_back(kernels[i]);
  }
  return dense;
}

}  // namespace

KernelChanges StageLayers::changes(size_t members, double slow_share) const {
  const double error = kDeviceSpread / std::sqrt(static_cast<double>(std::max<size_t>(1, members)));
  const auto of = [error](std::optional<double> value) {
    return value ? std::optional<Change>({.value = *value, .error = error}) : std::nullopt;
  };
  KernelChanges changes = ChangesOf(by_bound, error);
  changes[KernelMeasurement::kParameters] = of(parameter_growth);
  changes[KernelMeasurement::kTypical] = of(typical_growth);
  changes[KernelMeasurement::kCalls] = of(calls_growth);
  if (clock_growth)
    changes[KernelMeasurement::kClock] = ClockChangeBetween(*clock_growth, *clock_growth, error);
  changes.slow_share = slow_share;
  return changes;
}

bool IsWork(const FunctionPattern& pattern) {
  return !IsSymptom(pattern) && !IsStarvation(pattern.name) && !IsCommunicationCall(pattern);
}

std::vector<StageWork> MeasureStages(const CrossRankView& view) {
  if (!RolesAreStages(view)) return {};
  std::vector<StageWork> stages(view.role_count());
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (!rank.has_steps()) continue;
    StageWork& stage = stages[rank.role];
    stage.role = rank.role;
    stage.name = rank.batch->role.empty() ? "role " + std::to_string(rank.role) : rank.batch->role;
    stage.members.push_back(i);
  }
  std::erase_if(stages, [](const StageWork& stage) { return stage.members.empty(); });
  for (StageWork& stage : stages) MeasureStage(view, stage);
  return stages;
}

std::optional<StageLayers> FindHeavyLayers(const CrossRankView& view,
                                           std::span<const StageWork> all_stages) {
  const std::optional<std::vector<StageWork>> stages_of_whole = WholeMembers(view, all_stages);
  if (all_stages.size() < 2 || !stages_of_whole) return std::nullopt;
  const std::span<const StageWork> stages = *stages_of_whole;
  if (AreMostlyFolded(view, stages)) return std::nullopt;
  const std::vector<SharedKernel> kernels = SharedKernels(view, stages, false);
  if (kernels.size() < kFewestKernels) return std::nullopt;
  const std::vector<SharedKernel> dense = WithoutExperts(kernels);
  if (dense.size() < kFewestKernels) return std::nullopt;
  std::optional<StageLayers> heavy = Heaviest(dense, stages.size());
  if (!heavy) return std::nullopt;
  heavy->beside_experts = dense.size() < kernels.size() &&
                          TypicalGrowth(kernels, heavy->stage) <= kHalf * heavy->growth;
  if (const std::vector<SharedKernel> of_parameters = SharedKernels(view, stages, true);
      !of_parameters.empty())
    heavy->parameter_growth = TypicalGrowth(of_parameters, heavy->stage);
  return heavy;
}

}  // namespace eroica

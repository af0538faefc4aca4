#include "diagnosis/regression/new_function.h"

#include <algorithm>
#include <vector>

#include "diagnosis/measurements/hidden_work.h"
#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/symptom.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/regression/active_steps.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

// What a function took in the windows of the past.
struct Before {
  double least_ns = 0;
  double most_ns = 0;
};

using TimeOf = double (*)(const PatternBatch& profile, FunctionId function);

Before BeforeOf(std::span<const PatternBatch> past, FunctionId function, TimeOf time_of) {
  Before before{.least_ns = time_of(past.front(), function)};
  for (const PatternBatch& profile : past) {
    const double ns = time_of(profile, function);
    before = {.least_ns = std::min(before.least_ns, ns), .most_ns = std::max(before.most_ns, ns)};
  }
  return before;
}

// By which half of the kernels' time is longer than in any window before: longer inputs lengthen
// all of it.
double GrowthOfKernels(const PatternBatch& now, std::span<const PatternBatch> past) {
  std::vector<Weighted> growths;
  for (const FunctionPattern& row : now.patterns) {
    if (row.function_class != FunctionClass::kGpuCompute) continue;
    const double before_ns = BeforeOf(past, row.function, FunctionNsOf).most_ns;
    const auto now_ns = static_cast<double>(row.critical_ns);
    if (before_ns > 0) growths.push_back({now_ns / before_ns - 1, now_ns});
  }
  return WeightedQuantile(std::span(growths), 0.5);
}

bool HasGrown(const Before& before, double now_ns, size_t windows, double of_kernels,
              const NewFunctionOptions& options) {
  if (of_kernels > options.max_of_kernels * (now_ns / std::max(1.0, before.most_ns) - 1))
    return false;
  const double range_ns = before.most_ns - before.least_ns;
  return windows >= options.min_past_of_grown && before.least_ns > 0 &&
         now_ns >= (1 + options.min_growth) * before.most_ns &&
         now_ns - before.most_ns >= options.min_over_range * range_ns;
}

void AddSteps(const PatternBatch& profile, std::vector<double>& durations) {
  for (const StepRecord& step : profile.steps)
    durations.push_back(static_cast<double>(step.duration_ns));
}

// The windows in which it is new, the newest last.
using Since = std::vector<const PatternBatch*>;

JobChange ChangeOf(std::span<const PatternBatch> past, const Since& since) {
  std::vector<double> then;
  std::vector<double> of_late;
  for (const PatternBatch& profile : past) AddSteps(profile, then);
  for (const PatternBatch* profile : since) AddSteps(*profile, of_late);
  return {.past = past,
          .since = since,
          .past_ns = Median(std::span(then)),
          .now_ns = Median(std::span(of_late))};
}

// What ranks work and move data for in a step. The rest is waiting for what others work, which
// grows as their work does: kernels that all ranks run longer lengthen a step of a pipeline by the
// same share as they lengthen this.
double WorkNsOf(const PatternBatch& profile) {
  const MeanStep step = MeanStepOf(profile);
  return std::min(step.duration_ns,
                  step.busy_ns() + FunctionNsOf(profile, TransferOfCollectives()));
}

// Whether the typical rank runs it for so long, whether anybody waits for that or not.
bool IsRunByMost(const CrossRankView& view, FunctionId function, double least_ns) {
  std::vector<double> times;
  for (const RankView& rank : view.ranks()) {
    if (rank.has_steps()) times.push_back(RunsForNs(rank, function));
  }
  return Median(std::span(times)) >= least_ns;
}

// What a function takes in all windows since, and took before.
struct Taken {
  double now_ns = 0;
  Before before;
  double more_ns() const { return now_ns - before.most_ns; }
};

Taken TakenOf(std::span<const PatternBatch> past, const Since& since, FunctionId function,
              TimeOf time_of) {
  Taken taken{.now_ns = time_of(*since.back(), function),
              .before = BeforeOf(past, function, time_of)};
  for (const PatternBatch* profile : since)
    taken.now_ns = std::min(taken.now_ns, time_of(*profile, function));
  return taken;
}

// By which the ranks wait longer for processors. It lies in whatever they run, and is nothing that
// they have taken up.
double GrowthOfWaits(std::span<const PatternBatch> past, const Since& since) {
  double growth_ns = 0;
  for (const FunctionPattern& row : since.back()->patterns) {
    if (!row.name.starts_with(kWaitForProcessor)) continue;
    growth_ns += std::max(0.0, TakenOf(past, since, row.function, FunctionNsOf).more_ns());
  }
  return growth_ns;
}

bool IsNew(const FunctionPattern& row, const Taken& taken, const NewFunctionOptions& options) {
  return RunsOnThread(row.function_class) &&
         taken.before.most_ns <= options.max_before * taken.now_ns;
}

std::optional<NewFunction> FindAgainst(const CrossRankView& view,
                                       std::span<const PatternBatch> past, const Since& since,
                                       const NewFunctionOptions& options) {
  NewFunction best{.change = ChangeOf(past, since)};
  const double of_kernels = GrowthOfKernels(view.profile(), past);
  double work_ns = 1;
  for (const PatternBatch* profile : since) work_ns = std::max(work_ns, WorkNsOf(*profile));
  const double waits_ns = GrowthOfWaits(past, since);
  double together_ns = 0;
  double together = 0;  // share of a step
  for (const FunctionPattern& row : view.profile().patterns) {
    if (IsSymptom(row)) continue;
    const double of_ns =
        row.function_class == FunctionClass::kGpuCompute ? work_ns : best.change.now_ns;
    const double least_ns =
        options.min_share_of_one * of_ns + (RunsOnThread(row.function_class) ? waits_ns : 0.0);
    Taken taken = TakenOf(past, since, row.function, FunctionNsOf);
    const Taken on_stage = TakenOf(past, since, row.function, FunctionNsOnStage);
    const bool hidden = on_stage.more_ns() >= least_ns && IsNew(row, on_stage, options) &&
                        on_stage.more_ns() > taken.more_ns() &&
                        IsRunByMost(view, row.function, options.min_hidden * on_stage.now_ns);
    if (hidden) taken = on_stage;
    if (taken.more_ns() < least_ns) continue;
    const bool grown = !IsNew(row, taken, options);
    if (grown && !HasGrown(taken.before, taken.now_ns, past.size(), of_kernels, options)) continue;
    if (best.change.excess_ns() < options.min_longer * taken.more_ns()) continue;
    if (!RunsInMostSteps(view, row.function)) continue;
    together_ns += taken.more_ns();
    together += taken.more_ns() / of_ns;
    if (taken.more_ns() <= best.now_ns - best.before_ns) continue;
    best.row = &row;
    best.grown = grown;
    best.before_ns = taken.before.most_ns;
    best.now_ns = taken.now_ns;
  }
  if (best.row == nullptr || together < options.min_share) return std::nullopt;
  if (best.change.excess_ns() < options.min_longer * together_ns) return std::nullopt;
  best.change.least_ns = options.min_longer * together_ns;
  return best;
}

}  // namespace

std::optional<NewFunction> FindNewFunction(const CrossRankView& view,
                                           std::span<const PatternBatch> history,
                                           const NewFunctionOptions& options) {
  if (view.profile().steps.empty() || history.size() + 1 < options.min_since) return std::nullopt;
  const size_t earlier = history.size() + 1 - options.min_since;
  Since since;
  for (const PatternBatch& profile : history.subspan(earlier)) since.push_back(&profile);
  since.push_back(&view.profile());
  for (const size_t mixed : {size_t{0}, size_t{1}}) {
    if (earlier < options.min_past + mixed) break;
    const std::span<const PatternBatch> past = history.first(earlier - mixed);
    if (std::optional<NewFunction> found = FindAgainst(view, past, since, options)) return found;
  }
  return std::nullopt;
}

}  // namespace eroica

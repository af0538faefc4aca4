#include "diagnosis/regression/new_function.h"

#include <algorithm>
#include <vector>

#include "diagnosis/job_profile.h"
#include "diagnosis/mean_step.h"
#include "diagnosis/robust_statistics.h"
#include "diagnosis/symptom.h"

namespace eroica {
namespace {

bool RunsOnThread(const FunctionPattern& row) {
  return row.function_class == FunctionClass::kPython || row.function_class == FunctionClass::kCpuOp;
}

// What a function took in the windows of the past.
struct Before {
  double least_ns = 0;
  double most_ns = 0;
};

Before BeforeOf(std::span<const PatternBatch> past, FunctionId function) {
  Before before{.least_ns = FunctionNsOf(past.front(), function)};
  for (const PatternBatch& profile : past) {
    const double ns = FunctionNsOf(profile, function);
    before = {.least_ns = std::min(before.least_ns, ns), .most_ns = std::max(before.most_ns, ns)};
  }
  return before;
}

// By which half of the kernels' time is longer than in any window before: longer inputs lengthen all of it.
double GrowthOfKernels(const PatternBatch& now, std::span<const PatternBatch> past) {
  std::vector<Weighted> growths;
  for (const FunctionPattern& row : now.patterns) {
    if (row.function_class != FunctionClass::kGpuCompute) continue;
    const double before_ns = BeforeOf(past, row.function).most_ns;
    const auto now_ns = static_cast<double>(row.critical_ns);
    if (before_ns > 0) growths.push_back({now_ns / before_ns - 1, now_ns});
  }
  return WeightedQuantile(std::span(growths), 0.5);
}

bool HasGrown(const Before& before, double now_ns, size_t windows, double of_kernels, const NewFunctionOptions& options) {
  if (of_kernels > options.max_of_kernels * (now_ns / std::max(1.0, before.most_ns) - 1)) return false;
  const double range_ns = before.most_ns - before.least_ns;
  return windows >= options.min_past_of_grown && before.least_ns > 0 && now_ns >= (1 + options.min_growth) * before.most_ns &&
         now_ns - before.most_ns >= options.min_over_range * range_ns;
}

void AddSteps(const PatternBatch& profile, std::vector<double>& durations) {
  for (const StepRecord& step : profile.steps) durations.push_back(static_cast<double>(step.duration_ns));
}

JobChange ChangeOf(std::span<const PatternBatch> past, const PatternBatch& before_now, const PatternBatch& now) {
  std::vector<double> then;
  std::vector<double> since;
  for (const PatternBatch& profile : past) AddSteps(profile, then);
  AddSteps(before_now, since);
  AddSteps(now, since);
  return {.past = past, .since = {&before_now, &now}, .past_ns = Median(std::span(then)), .now_ns = Median(std::span(since))};
}

// On the median rank that runs it.
bool RunsInMostSteps(const CrossRankView& view, FunctionId function, double share) {
  const FunctionColumn* column = view.FindFunction(function);
  if (column == nullptr) return false;
  std::vector<double> active;
  for (size_t i = 0; i < column->size(); ++i) {
    const auto steps = static_cast<double>(view.ranks()[column->rank[i]].batch->steps.size());
    active.push_back(steps > 0 ? column->pattern[i]->active_steps / steps : 0);
  }
  return Median(std::span(active)) >= share;
}

std::optional<NewFunction> FindAgainst(const CrossRankView& view, std::span<const PatternBatch> past, const PatternBatch& before_now,
                                       const NewFunctionOptions& options) {
  NewFunction best{.change = ChangeOf(past, before_now, view.profile())};
  const double of_kernels = GrowthOfKernels(view.profile(), past);
  double together_ns = 0;
  for (const FunctionPattern& row : view.profile().patterns) {
    if (IsSymptom(row)) continue;
    const double now_ns = std::min(static_cast<double>(row.critical_ns), FunctionNsOf(before_now, row.function));
    const Before before = BeforeOf(past, row.function);
    const double more_ns = now_ns - before.most_ns;
    if (more_ns < options.min_share_of_one * best.change.now_ns) continue;
    const bool is_new = RunsOnThread(row) && before.most_ns <= options.max_before * now_ns;
    if (!is_new && !HasGrown(before, now_ns, past.size(), of_kernels, options)) continue;
    if (best.change.excess_ns() < options.min_longer * more_ns || !RunsInMostSteps(view, row.function, options.min_active_steps)) continue;
    together_ns += more_ns;
    if (more_ns <= best.now_ns - best.before_ns) continue;
    best.row = &row;
    best.before_ns = before.most_ns;
    best.now_ns = now_ns;
  }
  if (best.row == nullptr || together_ns < options.min_share * best.change.now_ns) return std::nullopt;
  if (best.change.excess_ns() < options.min_longer * together_ns) return std::nullopt;
  best.change.least_ns = options.min_longer * together_ns;
  return best;
}

}  // namespace

std::optional<NewFunction> FindNewFunction(const CrossRankView& view, std::span<const PatternBatch> history,
                                           const NewFunctionOptions& options) {
  if (view.profile().steps.empty()) return std::nullopt;
  for (const size_t mixed : {size_t{0}, size_t{1}}) {
    if (history.size() < options.min_past + mixed + 1) break;
    const std::span<const PatternBatch> past = history.first(history.size() - 1 - mixed);
    if (std::optional<NewFunction> found = FindAgainst(view, past, history.back(), options)) return found;
  }
  return std::nullopt;
}

}  // namespace eroica

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
  return (row.function_class == FunctionClass::kPython || row.function_class == FunctionClass::kCpuOp) && !IsSymptom(row);
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

}  // namespace

std::optional<NewFunction> FindNewFunction(const CrossRankView& view, std::span<const PatternBatch> history,
                                           const NewFunctionOptions& options) {
  if (history.size() < options.min_past + 1 || view.profile().steps.empty()) return std::nullopt;
  const std::span<const PatternBatch> past = history.first(history.size() - 1);
  NewFunction best{.change = ChangeOf(past, history.back(), view.profile())};
  for (const FunctionPattern& row : view.profile().patterns) {
    if (!RunsOnThread(row)) continue;
    const double now_ns = std::min(static_cast<double>(row.critical_ns), FunctionNsOf(history.back(), row.function));
    if (now_ns < options.min_share * best.change.now_ns || now_ns <= best.now_ns) continue;
    double before_ns = 0;
    for (const PatternBatch& profile : past) before_ns = std::max(before_ns, FunctionNsOf(profile, row.function));
    if (before_ns > options.max_before * now_ns || best.change.excess_ns() < options.min_longer * (now_ns - before_ns)) continue;
    if (!RunsInMostSteps(view, row.function, options.min_active_steps)) continue;
    best.row = &row;
    best.before_ns = before_ns;
    best.now_ns = now_ns;
  }
  if (best.row == nullptr) return std::nullopt;
  best.change.least_ns = options.min_longer * (best.now_ns - best.before_ns);
  return best;
}

}  // namespace eroica

#include "diagnosis/regression/regression_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnosis/duration_text.h"
#include "diagnosis/job_profile.h"
#include "diagnosis/robust_statistics.h"
#include "diagnosis/stack_frames.h"
#include "diagnosis/symptom.h"

namespace eroica {
namespace {

// The job before and after: the newest window and the one before it against all earlier ones.
struct Change {
  std::span<const PatternBatch> past;
  double past_ns = 0;   // a step
  double now_ns = 0;    // of the quicker of the two newest windows
  double noise_ns = 0;  // of a window's mean step
  double excess_ns() const { return now_ns - past_ns; }
};

// How far the mean of a window of so many steps may lie from the next one's, as the past shows: its steps vary, and its windows do.
double NoiseOf(std::span<const PatternBatch> past, size_t steps) {
  std::vector<double> durations;
  std::vector<double> means;
  for (const PatternBatch& profile : past) {
    for (const StepRecord& step : profile.steps) durations.push_back(static_cast<double>(step.duration_ns));
    means.push_back(StepNsOf(profile));
  }
  const double of_steps =
      kSigmaPerMad * TakeMedianAndMad(std::span(durations)).mad / std::sqrt(static_cast<double>(std::max<size_t>(1, steps)));
  const double of_windows = kSigmaPerMad * TakeMedianAndMad(std::span(means)).mad;
  return std::max(of_steps, of_windows);
}

std::optional<Change> FindChange(const CrossRankView& view, const PatternBatch& now, const RegressionOptions& options) {
  const std::span<const PatternBatch> history = view.history();
  if (history.size() < options.min_past + 1 || now.steps.empty()) return std::nullopt;
  Change change{.past = history.first(history.size() - 1)};
  std::vector<double> means;
  for (const PatternBatch& profile : change.past) means.push_back(StepNsOf(profile));
  change.past_ns = Median(std::span(means));
  change.now_ns = std::min(StepNsOf(now), StepNsOf(history.back()));
  change.noise_ns = NoiseOf(change.past, now.steps.size());
  const double least = std::max(options.min_share * change.past_ns, options.min_deviations * change.noise_ns);
  if (change.past_ns <= 0 || change.excess_ns() < least) return std::nullopt;
  return change;
}

double PastOf(std::span<const PatternBatch> past, FunctionId function) {
  std::vector<double> values;
  for (const PatternBatch& profile : past) values.push_back(FunctionNsOf(profile, function));
  return Median(std::span(values));
}

struct Cause {
  const FunctionPattern* row = nullptr;
  double past_ns = 0;
  double now_ns = 0;
  double coverage = 0;
};

// The function that most of the ranks which run it have become slower in; time that collectives only wait is nobody's cause.
std::optional<Cause> FindCause(const PatternBatch& now, const PatternBatch& before, const Change& change,
                               const RegressionOptions& options) {
  Cause best;
  for (const FunctionPattern& row : now.patterns) {
    if (IsSymptom(row) && row.function != TransferOfCollectives()) continue;
    const double past_ns = PastOf(change.past, row.function);
    const double now_ns = std::min(static_cast<double>(row.critical_ns), FunctionNsOf(before, row.function));
    const double coverage = (now_ns - past_ns) / change.excess_ns();
    if (coverage > best.coverage) best = {.row = &row, .past_ns = past_ns, .now_ns = now_ns, .coverage = coverage};
  }
  if (best.row == nullptr || best.coverage < options.min_coverage) return std::nullopt;
  return best;
}

std::vector<Victim> EveryRank(const CrossRankView& view, double lost_ns) {
  std::vector<Victim> victims;
  for (const RankView& rank : view.ranks()) {
    if (rank.batch->silent || rank.batch->steps.empty()) continue;
    const double steps = static_cast<double>(rank.batch->steps.size());
    victims.push_back({.rank = rank.rank, .lost_ns = static_cast<int64_t>(lost_ns * steps), .lost_ns_per_step = lost_ns});
  }
  return victims;
}

Finding Describe(const CrossRankView& view, const Change& change, const Cause& cause, const RegressionOptions& options) {
  const bool network = cause.row->function == TransferOfCollectives();
  Finding finding;
  finding.kind = network ? FindingKind::kCommunication : FindingKind::kRegression;
  finding.subkind = network ? "everywhere" : "function";
  finding.function = cause.row->name;
  finding.stack = cause.row->stack;
  finding.function_class = cause.row->function_class;
  finding.lost_ns_per_step = change.excess_ns();
  finding.victims = EveryRank(view, change.excess_ns());
  finding.confidence = 0.9 * std::min(1.0, 0.5 + cause.coverage / 2);
  const auto windows = static_cast<uint64_t>(change.past.size());
  finding.evidence = {{"step_time", "ns", change.now_ns, change.past_ns,
                       change.past_ns + std::max(options.min_share * change.past_ns, options.min_deviations * change.noise_ns), windows},
                      {"function_time_per_step", "ns", cause.now_ns, cause.past_ns,
                       cause.past_ns + options.min_coverage * change.excess_ns(), cause.row->count},
                      {"excess_explained_by_function", "ratio", cause.coverage, 0, options.min_coverage, windows}};
  finding.title = fmt::format("The job has become slower on all ranks, {} a step instead of {}: {} takes {} instead of {}.",
                              DurationText(change.now_ns), DurationText(change.past_ns), cause.row->name, DurationText(cause.now_ns),
                              DurationText(cause.past_ns));
  finding.explanation = fmt::format(
      "The two newest windows against the {} before them, each rank with its own past: {} of the longer step lie in this function, on {} "
      "ranks. No rank differs "
      "from its peers in it.",
      windows, PercentText(std::min(1.0, cause.coverage)), cause.row->count);
  finding.suggested_action =
      network ? "Look at what all ranks share of the network: paths, flow scheduling, other jobs, a changed NCCL setting."
              : fmt::format("Look at what changed in {} or in what it reads; compare with the version before.", cause.row->name);
  finding.first_step = view.ranks().front().batch->steps.empty() ? -1 : view.ranks().front().batch->steps.front().id;
  finding.last_step = view.ranks().front().batch->steps.empty() ? -1 : view.ranks().front().batch->steps.back().id;
  return finding;
}

Finding DescribeUnneeded(const CrossRankView& view, const UnneededPython& python, const ExpectationOptions& options) {
  const double share = python.ns / python.step_ns;
  const PatternBatch& batch = *view.ranks().front().batch;
  Finding finding;
  finding.kind = FindingKind::kRegression;
  finding.subkind = "function";
  finding.function = python.name;
  finding.stack = python.stack;
  finding.function_class = FunctionClass::kPython;
  finding.lost_ns_per_step = python.ns;
  finding.victims = EveryRank(view, python.ns);
  finding.confidence = 0.7;
  finding.evidence = {{"share_of_step", "ratio", share, share, options.max_python_share, python.ranks},
                      {"function_time_per_step", "ns", python.ns, python.ns, options.max_python_share * python.step_ns, python.ranks}};
  finding.title = fmt::format("{} takes {} of every step on all {} ranks ({} of {}), and training needs nothing of it.", python.name,
                              PercentText(share), python.ranks, DurationText(python.ns), DurationText(python.step_ns));
  finding.explanation =
      "No rank differs from its peers, so no machine is slow. It is Python on the critical path, that is while no kernel runs and nothing "
      "is exchanged, and it is "
      "neither optimizer nor data loading, nor, where Python computes, part of the forward or backward pass.";
  finding.suggested_action = fmt::format("Look at {}: take it out of the step, do it less often, or on another thread.", python.name);
  finding.caveats = {"The job's past does not tell: either there is none yet, or it has always been so."};
  finding.first_step = batch.steps.empty() ? -1 : batch.steps.front().id;
  finding.last_step = batch.steps.empty() ? -1 : batch.steps.back().id;
  return finding;
}

// Whether the job has become slower, and why.
std::optional<Finding> FindRegression(const CrossRankView& view, const RegressionOptions& options) {
  if (view.history().empty()) return std::nullopt;
  const PatternBatch& now = view.profile();
  const std::optional<Change> change = FindChange(view, now, options);
  if (!change) return std::nullopt;
  const std::optional<Cause> cause = FindCause(now, view.history().back(), *change, options);
  if (!cause) return std::nullopt;
  return Describe(view, *change, *cause, options);
}

// What was not so in the window before is a pause, or a change that the next window will confirm.
bool WasSoBefore(const CrossRankView& view, const UnneededPython& python, const ExpectationOptions& options) {
  if (view.history().empty()) return true;
  const PatternBatch& before = view.history().back();
  double ns = 0;
  for (const FunctionPattern& row : before.patterns) {
    const std::vector<std::string_view> frames = FramesOf(row);
    if (std::find(frames.begin(), frames.end(), python.name) != frames.end()) ns += static_cast<double>(row.critical_ns);
  }
  return ns >= options.max_python_share * StepNsOf(before);
}

}  // namespace

void RegressionOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  if (std::optional<Finding> regression = FindRegression(view, options_)) {
    findings.push_back(std::move(*regression));
    return;
  }
  const std::optional<UnneededPython> python = FindUnneededPython(view, options_.expectation);
  if (python && WasSoBefore(view, *python, options_.expectation)) findings.push_back(DescribeUnneeded(view, *python, options_.expectation));
}

}  // namespace eroica

#include "diagnosis/regression/job_change.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/healthy_spread.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

// How far the mean of a window of so many steps may lie from the next one's, as the past shows: its
// steps vary, and its windows do.
double NoiseOf(std::span<const PatternBatch> past, size_t steps, double drift) {
  std::vector<double> durations;
  std::vector<double> means;
  for (const PatternBatch& profile : past) {
    for (const StepRecord& step : profile.steps)
      durations.push_back(static_cast<double>(step.duration_ns));
    means.push_back(MeanStepOf(profile).duration_ns);
  }
  const double of_steps = kSigmaPerMad * TakeMedianAndMad(std::span(durations)).mad /
                          std::sqrt(static_cast<double>(std::max<size_t>(1, steps)));
  const MedianAndMad windows = TakeMedianAndMad(std::span(means));
  double of_windows = kSigmaPerMad * windows.mad;
  if (drift > 0) of_windows = ModeratedSpread(of_windows, means.size(), drift * windows.median);
  return std::max(of_steps, of_windows);
}

// The typical steps of some windows: without those that lie apart.
struct Typical {
  size_t steps = 0;
  size_t apart = 0;
  double mean_ns = 0;
  double squares = 0;                // sum of (step - mean)^2
  std::vector<double> window_means;  // of windows that have any

  double share_apart() const {
    return static_cast<double>(apart) / static_cast<double>(std::max<size_t>(1, steps + apart));
  }
};

Typical TypicalOf(std::span<const PatternBatch* const> windows) {
  constexpr double kApart = 5;            // standard deviations: of normal steps none is
  constexpr double kLeastSpread = 0.002;  // of a step: what nobody can measure
  std::vector<double> durations;
  for (const PatternBatch* window : windows) {
    for (const StepRecord& step : window->steps)
      durations.push_back(static_cast<double>(step.duration_ns));
  }
  std::vector<double> copy = durations;
  const MedianAndMad middle = TakeMedianAndMad(std::span(copy));
  const double most = kApart * std::max(kSigmaPerMad * middle.mad, kLeastSpread * middle.median);
  Typical typical;
  double sum = 0;
  for (const PatternBatch* window : windows) {
    double of_window = 0;
    size_t count = 0;
    for (const StepRecord& step : window->steps) {
      const auto ns = static_cast<double>(step.duration_ns);
      if (std::abs(ns - middle.median) > most) {
        ++typical.apart;
        continue;
      }
      of_window += ns;
      ++count;
    }
    if (count > 0) typical.window_means.push_back(of_window / static_cast<double>(count));
    typical.steps += count;
    sum += of_window;
  }
  typical.mean_ns = typical.steps > 0 ? sum / static_cast<double>(typical.steps) : 0;
  for (const double ns : durations) {
    if (std::abs(ns - middle.median) <= most)
      typical.squares += (ns - typical.mean_ns) * (ns - typical.mean_ns);
  }
  return typical;
}

// P-value of the rise of the mean (t-test, one-sided). Steps of windows that resemble the window
// before say less than as many independent ones would.
double PValueOf(const Typical& past, const Typical& since, double floor_ns) {
  const double freedom = static_cast<double>(past.steps + since.steps - 2);
  const double variance = (past.squares + since.squares) / freedom;
  const double factor = ErrorFactor(since.window_means.size(), CorrelationOf(past.window_means));
  const double parts = 1 / static_cast<double>(past.steps) + 1 / static_cast<double>(since.steps);
  const double error_ns = std::max(floor_ns, std::sqrt(variance * parts * factor));
  return StudentTail((since.mean_ns - past.mean_ns) / error_ns, freedom / factor);
}

bool IsFaintChange(const Typical& past, const Typical& since, const ChangeOptions& options) {
  constexpr double kFloor = 0.0005;  // of a step: no mean of steps is known better
  if (past.share_apart() > options.most_apart || since.share_apart() > options.most_apart)
    return false;
  if (past.window_means.size() < options.faint_windows ||
      since.window_means.size() < options.faint_windows)
    return false;
  const double least_share = std::max(options.faint_share, options.min_deviations * options.drift);
  if (since.mean_ns - past.mean_ns < least_share * past.mean_ns) return false;
  if (*std::ranges::min_element(since.window_means) <= *std::ranges::max_element(past.window_means))
    return false;
  return PValueOf(past, since, kFloor * past.mean_ns) <= options.step_p_value;
}

double TypicalStepNs(const PatternBatch& profile) {
  std::vector<double> durations;
  for (const StepRecord& step : profile.steps)
    durations.push_back(static_cast<double>(step.duration_ns));
  return Median(std::span(durations));
}

size_t StepsIn(std::span<const PatternBatch> past) {
  size_t steps = 0;
  for (const PatternBatch& profile : past) steps += profile.steps.size();
  return steps;
}

double MedianOf(std::vector<double> values) { return Median(std::span(values)); }

double BusyNsOf(const PatternBatch& profile) { return MeanStepOf(profile).busy_ns(); }

// Of the past.
template <typename Of>
double MedianOver(std::span<const PatternBatch> past, Of of) {
  std::vector<double> values;
  for (const PatternBatch& profile : past) values.push_back(of(profile));
  return Median(std::span(values));
}

}  // namespace

double JobChange::own_excess_ns() const {
  constexpr double kMostAmplified = 4;
  return std::clamp(busy_ns, excess_ns() / kMostAmplified, excess_ns());
}

double PValueOfRise(std::span<const double> past, std::span<const double> since) {
  // of what it takes: the clock of a trace and the choice of the median rank
  constexpr double kFloor = 0.001;
  const auto add = [](std::span<const double> values) {
    Typical all{.steps = values.size(), .window_means = {values.begin(), values.end()}};
    for (const double value : values) all.mean_ns += value / static_cast<double>(values.size());
    for (const double value : values) all.squares += (value - all.mean_ns) * (value - all.mean_ns);
    return all;
  };
  const Typical before = add(past);
  const Typical after = add(since);
  if (before.steps + after.steps <= 2 || after.mean_ns <= before.mean_ns) return 1;
  if (*std::ranges::min_element(since) <= *std::ranges::max_element(past)) return 1;
  return PValueOf(before, after, kFloor * after.mean_ns);
}

std::optional<JobChange> FindChange(std::span<const PatternBatch> history, const PatternBatch& now,
                                    const ChangeOptions& options) {
  if (history.size() < options.min_past + 1 || now.steps.empty()) return std::nullopt;
  JobChange change{.past = history.first(history.size() - 1), .since = {&history.back(), &now}};
  if (StepsIn(change.past) < options.min_past_steps) return std::nullopt;
  change.past_ns = MedianOver(change.past, ProfileStepNs);
  change.now_ns = std::min(ProfileStepNs(now), ProfileStepNs(history.back()));
  change.least_ns =
      std::max(options.min_share * change.past_ns,
               options.min_deviations * NoiseOf(change.past, now.steps.size(), options.drift));
  if (change.past_ns <= 0 || change.excess_ns() < change.least_ns) return std::nullopt;
  const double typical_ns = std::min(TypicalStepNs(now), TypicalStepNs(history.back())) -
                            MedianOver(change.past, TypicalStepNs);
  if (typical_ns < change.excess_ns() / 2) return std::nullopt;
  change.busy_ns =
      std::min(BusyNsOf(now), BusyNsOf(history.back())) - MedianOver(change.past, BusyNsOf);
  return change;
}

std::optional<JobChange> FindChangeBegunBefore(std::span<const PatternBatch> history,
                                               const PatternBatch& now,
                                               const ChangeOptions& options) {
  if (history.size() < options.fewest_past + 1 || now.steps.empty()) return std::nullopt;
  const PatternBatch& before = history.back();
  JobChange change{.past = history.first(history.size() - 1), .since = {&now}, .begun_in = &before};
  change.past_ns = MedianOver(change.past, ProfileStepNs);
  change.now_ns = ProfileStepNs(now);
  change.least_ns =
      std::max(options.min_share * change.past_ns,
               options.min_deviations * NoiseOf(change.past, now.steps.size(), options.drift));
  if (change.past_ns <= 0 || change.excess_ns() < change.least_ns) return std::nullopt;
  const double half_ns = MedianOver(change.past, TypicalStepNs) + change.excess_ns() / 2;
  const auto is_longer = [half_ns](const StepRecord& step) {
    return static_cast<double>(step.duration_ns) >= half_ns;
  };
  if (!std::ranges::all_of(now.steps, is_longer)) return std::nullopt;
  const auto first = std::find_if_not(before.steps.rbegin(), before.steps.rend(), is_longer).base();
  const auto longer = static_cast<size_t>(before.steps.end() - first);
  const bool began_there = longer > 0 && std::none_of(before.steps.begin(), first, is_longer);
  if (!began_there || longer + now.steps.size() < options.fewest_steps) return std::nullopt;
  change.begun_share = static_cast<double>(longer) / static_cast<double>(before.steps.size());
  change.busy_ns = BusyNsOf(now) - MedianOver(change.past, BusyNsOf);
  return change;
}

bool HasRisenSince(const JobChange& change, std::span<const double> past, double begun_ns,
                   double now_ns) {
  constexpr double kTimes = 4;
  constexpr double kFloor = 0.001;  // of what it takes
  const auto [least, most] = std::ranges::minmax(past);
  const double typical_ns = MedianOf({past.begin(), past.end()});
  const double rise_ns = now_ns - typical_ns;
  if (rise_ns < kTimes * std::max(most - least, kFloor * now_ns)) return false;
  return begun_ns - typical_ns >= change.begun_share * rise_ns / 2;
}

std::optional<JobChange> FindFaintChange(std::span<const PatternBatch> history,
                                         const PatternBatch& now, const ChangeOptions& options) {
  if (now.steps.empty()) return std::nullopt;
  for (size_t count = options.faint_windows; count <= 4 * options.faint_windows;
       count += std::max<size_t>(1, count / 4)) {
    if (history.size() + 1 < count + options.faint_windows) break;
    JobChange change{.past = history.first(history.size() + 1 - count), .faint = true};
    std::vector<const PatternBatch*> before;
    for (const PatternBatch& profile : change.past) before.push_back(&profile);
    for (const PatternBatch& profile : history.last(count - 1)) change.since.push_back(&profile);
    change.since.push_back(&now);
    const Typical past = TypicalOf(before);
    const Typical since = TypicalOf(change.since);
    if (!IsFaintChange(past, since, options)) continue;
    change.past_ns = past.mean_ns;
    change.now_ns = since.mean_ns;
    change.least_ns = options.faint_share * past.mean_ns;
    double since_busy_ns = 0;
    for (const PatternBatch* window : change.since)
      since_busy_ns += BusyNsOf(*window) / static_cast<double>(count);
    change.busy_ns = since_busy_ns - MedianOver(change.past, BusyNsOf);
    return change;
  }
  return std::nullopt;
}

}  // namespace eroica

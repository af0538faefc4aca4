#include "tests/evaluation/score/score_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

namespace eroica {
namespace {

// Bounds between the bins of effects, as shares of the step.
constexpr std::array<double, 6> kEffectBounds = {0.003, 0.01, 0.03, 0.1, 0.3, 1.0};
constexpr double kLeastEffect = 0.001;  // the left end of the axis: what is less stands there
constexpr double kMostEffect = 3;

struct Bin {
  uint64_t faults = 0;
  uint64_t right = 0;
  double log_effects = 0;
};

std::vector<ChartTick> Shares() {
  std::vector<ChartTick> ticks;
  for (int percent = 0; percent <= 100; percent += 20)
    ticks.push_back({percent / 100.0, fmt::format("{} %", percent)});
  return ticks;
}

}  // namespace

Chart AccuracyChart(std::span<const ScoredRun> runs) {
  Chart chart{.title = "Right culprit, by what the fault costs",
              .x_label = "effect on the step time (hangs at the right end); n: faults",
              .y_label = "faults with the right culprit",
              .logarithmic_x = true,
              .x_ticks = {{kLeastEffect, "0.1 %"},
                          {0.003, "0.3 %"},
                          {0.01, "1 %"},
                          {0.03, "3 %"},
                          {0.1, "10 %"},
                          {0.3, "30 %"},
                          {1, "100 %"},
                          {kMostEffect, "300 %"}},
              .y_ticks = Shares()};
  std::map<std::string, size_t> index;
  std::vector<std::array<Bin, kEffectBounds.size() + 1>> bins;
  for (const ScoredRun& run : runs) {
    const auto is_known = [&run](const Truth& truth) {
      return run.facts.hangs || truth.effect.has_value();
    };
    if (std::none_of(run.truths.begin(), run.truths.end(), is_known)) continue;
    const auto [it, is_new] = index.try_emplace(run.method, chart.series.size());
    if (is_new) {
      chart.series.push_back({.name = run.method, .points = {}});
      bins.emplace_back();
    }
    for (size_t i = 0; i < run.truths.size(); ++i) {
      if (!is_known(run.truths[i]) || !run.verdict.truths[i].required) continue;
      const double effect = std::clamp(run.facts.hangs ? kMostEffect : *run.truths[i].effect,
                                       kLeastEffect, kMostEffect);
      const auto number =
          static_cast<size_t>(std::upper_bound(kEffectBounds.begin(), kEffectBounds.end(), effect) -
                              kEffectBounds.begin());
      Bin& bin = bins[it->second][number];
      ++bin.faults;
      bin.right += run.verdict.truths[i].agreement.culprit() ? 1 : 0;
      bin.log_effects += std::log(effect);
    }
  }
  for (size_t i = 0; i < bins.size(); ++i) {
    for (const Bin& bin : bins[i]) {
      if (bin.faults == 0) continue;
      const auto count = static_cast<double>(bin.faults);
      chart.series[i].points.push_back({.x = std::exp(bin.log_effects / count),
                                        .y = static_cast<double>(bin.right) / count,
                                        .count = bin.faults});
      // Every method saw the same faults.
      if (i == 0)
        chart.notes.push_back(
            {std::exp(bin.log_effects / count), fmt::format("n = {}", bin.faults)});
    }
  }
  return chart;
}

Chart ReliabilityChart(std::span<const MethodScore> scores) {
  Chart chart{
      .title = "What confidence is worth",
      .x_label = "confidence with which findings were said",
      .y_label = "findings that were right",
      .x_ticks = {{0, "0"}, {0.2, "0.2"}, {0.4, "0.4"}, {0.6, "0.6"}, {0.8, "0.8"}, {1, "1"}},
      .y_ticks = Shares(),
      .diagonal = true};
  for (const MethodScore& score : scores) {
    ChartSeries series{.name = score.method, .points = {}};
    for (const ConfidenceBin& bin : score.confidence) {
      if (bin.said == 0) continue;
      series.points.push_back({.x = bin.confidence_sum / bin.said,
                               .y = static_cast<double>(bin.right) / bin.said,
                               .count = bin.said});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace eroica

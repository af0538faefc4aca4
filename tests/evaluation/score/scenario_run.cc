#include "tests/evaluation/score/scenario_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "schemas/check.h"
#include "tests/evaluation/score/job_run.h"
#include "tests/evaluation/score/judged_job.h"

namespace eroica {
namespace {

using simulate::Fault;
using simulate::SimulatedJob;
using simulate::SimulationReport;

class NoSink final : public BatchSink {
 public:
  absl::Status Write(const EventBatch&) override { return absl::OkStatus(); }
};

bool Strikes(const Fault& fault, const ExpectedFinding& expected) {
  return std::any_of(fault.ranks.begin(), fault.ranks.end(), [&expected](uint32_t rank) {
    return std::find(expected.ranks.begin(), expected.ranks.end(), rank) != expected.ranks.end();
  });
}

// The faults that the finding is about first, then the others; how many they are.
size_t OwnFirst(const ExpectedFinding& expected, std::vector<Fault>& faults) {
  if (expected.fault >= 0) {
    EROICA_CHECK(static_cast<size_t>(expected.fault) < faults.size());
    std::swap(faults.front(), faults[static_cast<size_t>(expected.fault)]);
    return 1;
  }
  const auto end =
      std::stable_partition(faults.begin(), faults.end(),
                            [&expected](const Fault& fault) { return Strikes(fault, expected); });
  return end == faults.begin() ? faults.size() : static_cast<size_t>(end - faults.begin());
}

// Steps of a run, half open.
struct Steps {
  size_t first = 0;
  size_t end = 0;
};

// In which one of the faults can show; none where the job hangs.
Steps StepsOf(std::span<const Fault> faults, const SimulationReport& with,
              const SimulationReport& without) {
  if (faults.empty() || with.hangs || without.hangs) return {};
  Steps steps{.first = std::numeric_limits<size_t>::max(), .end = 0};
  for (const Fault& fault : faults) {
    steps.first = std::min<size_t>(steps.first, fault.first_step);
    steps.end = std::max<size_t>(steps.end, size_t{fault.last_step} + 1);
  }
  steps.end = std::min({steps.end, with.step_ns.size(), without.step_ns.size()});
  return steps;
}

std::optional<double> EffectOn(const Steps& steps, const SimulationReport& with,
                               const SimulationReport& without) {
  int64_t sum_with = 0;
  int64_t sum_without = 0;
  for (size_t step = steps.first; step < steps.end; ++step) {
    sum_with += with.step_ns[step];
    sum_without += without.step_ns[step];
  }
  if (sum_without <= 0) return std::nullopt;
  return static_cast<double>(sum_with) / static_cast<double>(sum_without) - 1;
}

// The same job with these faults only.
absl::StatusOr<SimulationReport> SimulateTwin(SimulatedJob job, std::vector<Fault> faults,
                                              const simulate::SimulationProgress& progress) {
  job.faults = std::move(faults);
  job.telemetry.sample_period_ns = 0;  // nobody looks
  job.telemetry.launches = false;
  NoSink sink;
  return Simulate(job, sink, progress);
}

}  // namespace

absl::StatusOr<std::vector<ScoredRun>> RunScenario(const Scenario& scenario, uint64_t seed,
                                                   std::span<const Method> methods,
                                                   const RunProgress& progress) {
  SimulatedJob job = scenario.job;
  job.seed = seed;
  absl::StatusOr<std::unique_ptr<JobRun>> run = JobRun::Create(EdgeSummarizer::InOrder());
  if (!run.ok()) return run.status();
  uint32_t steps_before = 0;
  const auto on_step = [&](uint32_t steps, int64_t) {
    return progress ? progress(steps_before + steps) : absl::OkStatus();
  };
  const absl::StatusOr<SimulationReport> report = Simulate(job, **run, on_step);
  if (!report.ok()) return report.status();
  RunFacts facts{.scenario = scenario.name,
                 .family = scenario.family,
                 .seed = seed,
                 .ranks = job.layout.world_size(),
                 .hangs = report->hangs};
  constexpr double kNsPerHour = 3600e9;
  facts.job_hours = static_cast<double>(std::accumulate(report->step_ns.begin(),
                                                        report->step_ns.end(), int64_t{0})) /
                    kNsPerHour;
  std::vector<Truth> truths = TruthsOf(scenario);
  if (!job.faults.empty()) {
    steps_before += job.steps;
    const absl::StatusOr<SimulationReport> twin = SimulateTwin(job, {}, on_step);
    if (!twin.ok()) return twin.status();
    facts.effect = EffectOnSteps(job.faults, *report, *twin);
    for (Truth& truth : truths) {
      if (truth.expected.optional) continue;
      truth.shown_window =
          FirstWindowOfEffect(job.faults, *report, *twin, job.telemetry.window_steps);
    }
  }
  for (Truth& truth : truths) {
    if (truth.expected.optional) continue;
    truth.effect = facts.effect;
    std::vector<Fault> faults = job.faults;
    const size_t own = OwnFirst(truth.expected, faults);
    if (own == faults.size()) continue;
    steps_before += job.steps;
    const absl::StatusOr<SimulationReport> twin =
        SimulateTwin(job, {faults.begin() + static_cast<ptrdiff_t>(own), faults.end()}, on_step);
    if (!twin.ok()) return twin.status();
    truth.effect = EffectOnSteps(std::span(faults).first(own), *report, *twin);
    truth.shown_window = FirstWindowOfEffect(std::span(faults).first(own), *report, *twin,
                                             job.telemetry.window_steps);
  }
  return JudgeJob(**run, facts, truths, methods, job.layout.ranks_per_host);
}

uint32_t StepsOf(const Scenario& scenario) {
  uint32_t runs = scenario.job.faults.empty() ? 1 : 2;
  for (const ExpectedFinding& expected : scenario.expected) {
    if (expected.optional) continue;
    std::vector<Fault> faults = scenario.job.faults;
    if (OwnFirst(expected, faults) < faults.size()) ++runs;
  }
  return scenario.job.steps * runs;
}

std::vector<Truth> TruthsOf(const Scenario& scenario) {
  const uint32_t window_steps = std::max(1u, scenario.job.telemetry.window_steps);
  std::vector<Truth> truths;
  for (const ExpectedFinding& expected : scenario.expected) {
    Truth& truth = truths.emplace_back(Truth{.expected = expected});
    std::vector<Fault> faults = scenario.job.faults;
    if (faults.empty() || expected.optional) continue;
    faults.resize(OwnFirst(expected, faults));
    const auto first = std::min_element(
        faults.begin(), faults.end(),
        [](const Fault& a, const Fault& b) { return a.first_step < b.first_step; });
    truth.first_window = static_cast<int64_t>(first->first_step / window_steps);
  }
  return truths;
}

std::optional<double> EffectOnSteps(std::span<const Fault> faults, const SimulationReport& with,
                                    const SimulationReport& without) {
  return EffectOn(StepsOf(faults, with, without), with, without);
}

std::optional<int64_t> FirstWindowOfEffect(std::span<const Fault> faults,
                                           const SimulationReport& with,
                                           const SimulationReport& without, uint32_t window_steps) {
  constexpr double kShows = 0.01;
  const size_t size = std::max(1u, window_steps);
  const Steps struck = StepsOf(faults, with, without);
  for (size_t window = struck.first / size; window * size < struck.end; ++window) {
    const std::optional<double> effect = EffectOn(
        {.first = window * size, .end = std::min((window + 1) * size, without.step_ns.size())},
        with, without);
    if (effect.value_or(0) >= kShows) return static_cast<int64_t>(window);
  }
  return std::nullopt;
}

}  // namespace eroica

// One scenario and one seed: simulated, diagnosed by every method, judged. Pure but for its memory:
// the same scenario and seed give the same runs.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/evaluation/score/method.h"
#include "tests/evaluation/score/scenario.h"
#include "tests/evaluation/score/scored_run.h"
#include "tests/evaluation/simulate/job_simulation.h"

namespace eroica {

// Called now and then from the thread that runs; an error ends the run.
using RunProgress = std::function<absl::Status(uint32_t steps_done)>;

// One a method, as given. A job with faults is simulated once more without them, which tells what
// they do to the step time; where an expected finding is about some of them only, also without
// these. Progress counts the steps of all.
absl::StatusOr<std::vector<ScoredRun>> RunScenario(const Scenario& scenario, uint64_t seed,
                                                   std::span<const Method> methods,
                                                   const RunProgress& progress);

// How many steps progress will have counted at the end.
uint32_t StepsOf(const Scenario& scenario);

// What must be found, each from the window on in which one of its faults can first show.
std::vector<Truth> TruthsOf(const Scenario& scenario);

// By how much steps are longer with these faults, as a share, over the steps in which one can show.
// Nothing without faults, or where there are no such steps.
std::optional<double> EffectOnSteps(std::span<const simulate::Fault> faults,
                                    const simulate::SimulationReport& with,
                                    const simulate::SimulationReport& without);

// The first window whose steps these faults make longer by so much that a person would act on it (a
// hundredth): one that strikes now and then may wait for it, one that begins in the last step of a
// window shows in the next. Nothing where there is none.
std::optional<int64_t> FirstWindowOfEffect(std::span<const simulate::Fault> faults,
                                           const simulate::SimulationReport& with,
                                           const simulate::SimulationReport& without,
                                           uint32_t window_steps);

}  // namespace eroica

// The faults of a job, made ready: what they do to each rank in each step. Pure and deterministic: same job, rank and step, same effects, in any order of asking.
#pragma once

#include <vector>

#include "producers/simulate/effect_source.h"
#include "producers/simulate/function_catalog.h"
#include "producers/simulate/simulated_job.h"
#include "producers/simulate/step_effects.h"

namespace eroica::simulate {

class FaultPlan : public EffectSource {
 public:
  // Adds the functions that faults run to the catalog. Requires Check(job).ok(). Keeps its own copy of what it needs.
  FaultPlan(const SimulatedJob& job, FunctionCatalog& catalog);

  // What differs from a healthy, even job for this rank in this step: faults, and the workload's own unevenness (lengths, routing, warm-up). effects is overwritten.
  void EffectsOn(uint32_t rank, uint32_t step, StepEffects& effects) const override;
  // By source, then destination, none twice.
  void PathsIn(uint32_t step, std::vector<PathEffect>& paths) const override;

 private:
  SimulatedJob job_;
  std::vector<uint32_t> functions_;  // of the faults, by their place in job_.faults
};

}  // namespace eroica::simulate

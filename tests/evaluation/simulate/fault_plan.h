// The faults of a job, made ready: what they do to each rank in each step. Pure and deterministic:
// same job, rank and step, same effects, in any order of asking.
#pragma once

#include <vector>

#include "tests/evaluation/simulate/effect_source.h"
#include "tests/evaluation/simulate/fault_effects.h"
#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/job_variation.h"
#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

class FaultPlan : public EffectSource {
 public:
  // Adds the functions that faults run to the catalog. Requires Check(job).ok(). Keeps its own copy
  // of what it needs. first_step: of the processes, which warm up.
  FaultPlan(const SimulatedJob& job, FunctionCatalog& catalog, uint32_t first_step = 0);

  // What differs from a healthy, even job for this rank in this step: faults, and what differs
  // where nothing is wrong (job_variation.h). effects is overwritten.
  void EffectsOn(uint32_t rank, uint32_t step, StepEffects& effects) const override;
  // By source, then destination, none twice.
  void PathsIn(uint32_t step, std::vector<PathEffect>& paths) const override;

 private:
  struct Blow {
    uint32_t fault = 0;  // index into faults_
    Factor amount = kUnit;
  };

  void Plan(const Fault& fault, const SimulatedJob& job, const HealthyStep& healthy,
            FunctionCatalog& catalog, std::vector<std::vector<Blow>>& by_rank);
  bool ShowsIn(const PlannedFault& fault, uint32_t step) const;

  ParallelLayout layout_;
  uint64_t seed_;
  JobVariation variation_;
  std::vector<PlannedFault> faults_;
  // Blows of rank r: [first_blow_[r], first_blow_[r + 1]).
  std::vector<uint32_t> first_blow_;
  std::vector<Blow> blows_;
};

}  // namespace eroica::simulate

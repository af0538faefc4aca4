// Whom a fault strikes, and how hard each of them.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/healthy_step.h"
#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

struct Strike {
  uint32_t rank = 0;
  Factor amount = kUnit;  // what the fault multiplies, see fault_effects.h
};

// By rank, none twice. key: of all that is drawn for the fault. Requires Check(job).ok(); none for
// faults of paths.
std::vector<Strike> StrikesOf(const Fault& fault, const SimulatedJob& job,
                              const HealthyStep& healthy, uint64_t key);

// Of faults of paths: adds what they do, in any order.
void AddPaths(const Fault& fault, const SimulatedJob& job, std::vector<PathEffect>& paths);

// 1 - the share that is lost; never less than a hundredth.
Factor SpeedLeft(double share_lost);
// A factor where `longer` is the share by which something takes longer.
Factor Longer(double longer);

}  // namespace eroica::simulate

// Machines of one kind differ for good: each device, host and link has a speed of its own, drawn
// once for the job and the same in all of its steps.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

class HardwareSpread {
 public:
  // Of the ranks of job.layout; a rank number is a device, whatever the job's size is.
  explicit HardwareSpread(const SimulatedJob& job);

  // Whether all machines are the same.
  bool None() const { return ranks_.empty(); }
  // Multiplies what the rank's machine is slower or faster in. Requires !None().
  void AddTo(uint32_t rank, StepEffects& effects) const;

 private:
  struct Machine {
    std::array<Factor, kKernelKindCount> kernel = {};
    Factor clock = kUnit;
    Factor host = kUnit;
    Factor nvlink = kUnit;
    Factor nic_send = kUnit;
    Factor nic_receive = kUnit;
  };
  std::vector<Machine> ranks_;  // empty: all the same
};

}  // namespace eroica::simulate

// Whom the simulation asks what is special about a rank in a step.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

// Pure: the same answer for a rank and step, in any order of asking.
class EffectSource {
 public:
  virtual ~EffectSource() = default;
  // What differs from a healthy, even job for this rank in this step. effects is overwritten.
  virtual void EffectsOn(uint32_t rank, uint32_t step, StepEffects& effects) const = 0;
  // Paths between hosts that are slow in the step, by source, then destination, none twice. paths
  // is overwritten.
  virtual void PathsIn(uint32_t step, std::vector<PathEffect>& paths) const = 0;
};

}  // namespace eroica::simulate

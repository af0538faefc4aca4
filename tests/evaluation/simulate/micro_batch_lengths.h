// Micro-batches of unequal length, other ones each step: documents are as long as they are. The
// lengths of a step are log-normal around the mean 1, so that the work stays the same on the mean.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/noise.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

class MicroBatchLengths {
 public:
  // spread: sigma of the logarithm. key: keeps these draws apart from others.
  MicroBatchLengths(double spread, uint32_t micro_batches, uint64_t key);

  // Multiplies the lengths of the micro-batches of the step, of which there are none yet or
  // micro_batches. replica: whose data they are.
  void MultiplyInto(uint32_t replica, uint32_t step, std::vector<Factor>& lengths) const;

 private:
  LogNormalTable table_;
  Factor to_mean_;  // from the median, which the table has as 1
  uint32_t micro_batches_;
  uint64_t key_;
};

}  // namespace eroica::simulate

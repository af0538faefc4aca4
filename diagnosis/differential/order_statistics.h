// Medians and quantiles of samples of hundreds. Bisects over the values by counting, so that no
// branch depends on their order: several times faster than partitioning them, and vectorized
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/differential/instruction_set.h"

namespace eroica {

class OrderStatistics {
 public:
  explicit OrderStatistics(std::span<const float> values);  // copies; no NaN

  // The n-th smallest value, counted from 0; n < values.size().
  float NthSmallest(size_t n, InstructionSet instructions = BestInstructionSet()) const;

  // Of an even number of values the mean of the two in the middle, of none 0.
  double Median() const;

 private:
  std::vector<int32_t> keys_;  // whole numbers in the order of the floats
};

}  // namespace eroica

// Where the ranks of one role lie in one dimension of a pattern and how widely they scatter, so
// that one rank's deviation can be put in numbers.
#pragma once

#include <cstdint>
#include <span>

#include "diagnosis/differential/differential_options.h"

namespace eroica {

struct DimensionStatistics {
  double median = 0;
  double spread = 0;      // robust standard deviation, with floors: from the MAD
  double log_spread = 0;  // of the logarithm: from the MAD relative to the median
  // at least spread, and wide as soon as a tenth of the ranks lies far off
  double tight_spread = 0;
  bool tight = false;

  // Robust standard deviations by which the value lies above (or, negative, below) the median.
  // Durations and shares scatter to above by factors rather than by amounts (log-normal noise), so
  // above the median both scales must agree; below, the share is bounded by 0 and the amount
  // counts.
  double Deviation(double value) const;
  // The same against tight_spread.
  double TightDeviation(double value) const;
};

// Of the values of a role with `members` ranks, or of a sample of them. Overwrites the values.
DimensionStatistics StatisticsOf(std::span<float> values, uint32_t members,
                                 const SpreadFloor& floor, const DifferentialOptions& options);

}  // namespace eroica

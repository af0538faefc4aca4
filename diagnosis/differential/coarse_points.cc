#include "diagnosis/differential/coarse_points.h"

#include <cmath>

namespace eroica {
namespace {

// The largest sum of three distances: room is left for their rounding.
constexpr float kMaxSteps = 32'000;

// Both ends of a distance are rounded down, so that in each dimension it is off by less than a step
// and a little (floats are exact to a hundredth).
constexpr float kRoundingSteps = 3.2f;

// Rows beyond the reach of the points are moved to its edge, which must still be surely far.
constexpr float kReach = 1.02f;

}  // namespace

CoarsePoints::CoarsePoints(std::span<const PatternPoint> points, const PatternBox& bounds,
                           float distance) {
  float longest = 0;
  for (size_t d = 0; d < kPatternDimensions; ++d) {
    reach.low[d] = bounds.low[d] - kReach * distance;
    reach.high[d] = bounds.high[d] + kReach * distance;
    longest += reach.high[d] - bounds.low[d];
  }
  steps = kMaxSteps / longest;
  surely_near = static_cast<int16_t>(std::floor(distance * steps - kRoundingSteps));
  undecided = static_cast<uint16_t>(std::ceil(distance * steps + kRoundingSteps) -
                                    static_cast<float>(surely_near));
  for (size_t d = 0; d < kPatternDimensions; ++d) {
    values[d].resize(points.size());
    for (size_t j = 0; j < points.size(); ++j)
      values[d][j] = static_cast<int16_t>((points[j][d] - reach.low[d]) * steps);
  }
}

}  // namespace eroica

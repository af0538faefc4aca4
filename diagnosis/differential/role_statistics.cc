#include "diagnosis/differential/role_statistics.h"

#include <algorithm>
#include <cmath>

#include "diagnosis/robust_statistics.h"

namespace eroica {

namespace {

double DeviationIn(double value, double median, double spread, double log_spread) {
  const double linear = (value - median) / spread;
  if (value <= median || median <= 0) return linear;
  return std::min(linear, std::log(value / median) / log_spread);
}

}  // namespace

double DimensionStatistics::Deviation(double value) const { return DeviationIn(value, median, spread, log_spread); }

double DimensionStatistics::TightDeviation(double value) const { return DeviationIn(value, median, tight_spread, log_spread); }

DimensionStatistics StatisticsOf(std::span<float> values, uint32_t members, const SpreadFloor& floor, const DifferentialOptions& options) {
  DimensionStatistics result;
  const MedianAndMad location = TakeMedianAndMad(values);
  const double ninetieth = static_cast<double>(Quantile(values.subspan(values.size() / 2), 0.8));  // of all, as the upper half lies above the MAD
  result.median = location.median;

  // Of few ranks the MAD may be small by chance.
  const double few = 1 + 2.0 / static_cast<double>(std::max(members, 1u));
  const double smallest = std::max(floor.relative * result.median, floor.absolute);
  const double scatter = kSigmaPerMad * location.mad;
  const double wide_scatter = std::max(scatter, ninetieth / kSigmaPerNinetieth);
  result.spread = few * std::max(scatter, smallest);
  result.tight_spread = few * std::max(wide_scatter, smallest);
  result.tight = members >= options.tight_min_members && wide_scatter <= std::max(options.tight_relative_spread * result.median, floor.absolute);

  const double relative_scatter = result.median > 0 ? scatter / result.median : 0;
  result.log_spread = few * std::max(relative_scatter, floor.relative);
  return result;
}

}  // namespace eroica

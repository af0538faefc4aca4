#include "diagnosis/differential/role_statistics.h"

#include <algorithm>
#include <cmath>

#include "diagnosis/differential/order_statistics.h"
#include "diagnosis/robust_statistics.h"

namespace eroica {

namespace {

double DeviationIn(double value, double median, double spread, double log_spread) {
  const double linear = (value - median) / spread;
  if (value <= median || median <= 0) return linear;
  return std::min(linear, std::log(value / median) / log_spread);
}

// Position of the value that nine of ten do not exceed: four fifths into the upper half, so that
// one of nine wild ranks does not count yet.
size_t NinetiethOf(size_t size) {
  const size_t middle = size / 2;
  return middle + static_cast<size_t>(std::ceil(0.8 * static_cast<double>(size - middle))) - 1;
}

}  // namespace

double DimensionStatistics::Deviation(double value) const {
  return DeviationIn(value, median, spread, log_spread);
}

double DimensionStatistics::TightDeviation(double value) const {
  return DeviationIn(value, median, tight_spread, log_spread);
}

DimensionStatistics StatisticsOf(std::span<float> values, uint32_t members,
                                 const SpreadFloor& floor, const DifferentialOptions& options) {
  DimensionStatistics result;
  result.median = OrderStatistics(values).Median();
  for (float& value : values)
    value = static_cast<float>(std::abs(static_cast<double>(value) - result.median));
  const OrderStatistics distances(values);

  // Of few ranks the MAD may be small by chance.
  const double few = 1 + 2.0 / static_cast<double>(std::max(members, 1u));
  const double smallest = std::max(floor.relative * result.median, floor.absolute);
  const double scatter = kSigmaPerMad * distances.Median();
  const double ninetieth = static_cast<double>(distances.NthSmallest(NinetiethOf(values.size())));
  const double wide_scatter = std::max(scatter, ninetieth / kSigmaPerNinetieth);
  result.spread = few * std::max(scatter, smallest);
  result.tight_spread = few * std::max(wide_scatter, smallest);
  result.tight =
      members >= options.tight_min_members &&
      wide_scatter <= std::max(options.tight_relative_spread * result.median, floor.absolute);

  const double relative_scatter = result.median > 0 ? scatter / result.median : 0;
  result.log_spread = few * std::max(relative_scatter, floor.relative);
  return result;
}

}  // namespace eroica

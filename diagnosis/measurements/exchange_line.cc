#include "diagnosis/measurements/exchange_line.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

constexpr size_t kFewestPoints = 3;  // of a line
constexpr double kLeastCorrelation = 0.9;
constexpr double kBlurredCorrelation = 0.5;  // where the inputs differ as well
// Of growth in time to growth in bytes. Bytes may count what is sent and what is received, of which
// one side alone grows with the work: then time grows twice as much.
constexpr double kLeastElasticity = 0.4;
constexpr double kMostElasticity = 2.5;

bool IsPlausible(double elasticity) {
  return elasticity >= kLeastElasticity && elasticity <= kMostElasticity;
}

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double MedianOf(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return Median(std::span(copy));
}

// Least squares.
struct Line {
  double mean_bytes = 0;
  double mean_time = 0;
  double slope = 0;
  double correlation = 0;

  double At(double bytes) const { return std::max(0.0, mean_time + slope * (bytes - mean_bytes)); }
};

// Nothing where time does not grow with the bytes in a plausible proportion.
std::optional<Line> LineThrough(std::span<const double> bytes, std::span<const double> times) {
  Line line{.mean_bytes = Mean(bytes), .mean_time = Mean(times)};
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    xx += (bytes[i] - line.mean_bytes) * (bytes[i] - line.mean_bytes);
    xy += (bytes[i] - line.mean_bytes) * (times[i] - line.mean_time);
    yy += (times[i] - line.mean_time) * (times[i] - line.mean_time);
  }
  if (xx <= 0 || yy <= 0 || line.mean_bytes <= 0 || line.mean_time <= 0) return std::nullopt;
  line.slope = xy / xx;
  line.correlation = xy / std::sqrt(xx * yy);
  return IsPlausible(line.slope * line.mean_bytes / line.mean_time) ? std::optional(line)
                                                                    : std::nullopt;
}

// Further than the others lie apart: then what blurs the line through them does not matter.
bool LiesFarBeyond(std::span<const double> bytes, double own_bytes) {
  const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  return own_bytes - *most >= *most - *least;
}

}  // namespace

double RelativeRange(std::span<const double> values) {
  if (values.empty()) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double median = MedianOf(values);
  return median > 0 ? (*most - *least) / median : 0;
}

std::optional<double> TimeExplainedByBytes(std::span<const double> bytes,
                                           std::span<const double> times, double own_bytes,
                                           double own_ns) {
  if (bytes.size() < kFewestPoints || bytes.size() != times.size()) return std::nullopt;
  if (RelativeRange(bytes) >= kUnevenBytes) {
    const std::optional<Line> line = LineThrough(bytes, times);
    if (line && line->correlation >= kLeastCorrelation) return line->At(own_bytes);
    if (!line || line->correlation < kBlurredCorrelation || !LiesFarBeyond(bytes, own_bytes))
      return std::nullopt;
  }
  const double usual_bytes = MedianOf(bytes);
  const double usual_ns = MedianOf(times);
  if (usual_bytes <= 0 || usual_ns <= 0) return std::nullopt;
  const double more_bytes = own_bytes / usual_bytes - 1;
  if (std::abs(more_bytes) < kUnevenBytes || !IsPlausible((own_ns / usual_ns - 1) / more_bytes))
    return std::nullopt;
  return own_ns;
}

}  // namespace eroica

#include "diagnosis/exchange_line.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "diagnosis/robust_statistics.h"

namespace eroica {
namespace {

constexpr size_t kFewestPoints = 3;  // of a line
constexpr double kLeastCorrelation = 0.9;
// Of growth in time to growth in bytes. Bytes may count what is sent and what is received, of which one side alone grows with the work: then time grows twice as much.
constexpr double kLeastElasticity = 0.4;
constexpr double kMostElasticity = 2.5;

bool IsPlausible(double elasticity) { return elasticity >= kLeastElasticity && elasticity <= kMostElasticity; }

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double MedianOf(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return Median(std::span(copy));
}

std::optional<double> ByLine(std::span<const double> bytes, std::span<const double> times, double own_bytes) {
  const double mean_x = Mean(bytes);
  const double mean_y = Mean(times);
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    xx += (bytes[i] - mean_x) * (bytes[i] - mean_x);
    xy += (bytes[i] - mean_x) * (times[i] - mean_y);
    yy += (times[i] - mean_y) * (times[i] - mean_y);
  }
  if (xx <= 0 || yy <= 0 || mean_x <= 0 || mean_y <= 0) return std::nullopt;
  const double slope = xy / xx;
  if (xy / std::sqrt(xx * yy) < kLeastCorrelation || !IsPlausible(slope * mean_x / mean_y)) return std::nullopt;
  return std::max(0.0, mean_y + slope * (own_bytes - mean_x));
}

}  // namespace

double RelativeRange(std::span<const double> values) {
  if (values.empty()) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double median = MedianOf(values);
  return median > 0 ? (*most - *least) / median : 0;
}

std::optional<double> TimeExplainedByBytes(std::span<const double> bytes, std::span<const double> times, double own_bytes, double own_ns) {
  if (bytes.size() < kFewestPoints || bytes.size() != times.size()) return std::nullopt;
  if (RelativeRange(bytes) >= kUnevenBytes) return ByLine(bytes, times, own_bytes);
  const double usual_bytes = MedianOf(bytes);
  const double usual_ns = MedianOf(times);
  if (usual_bytes <= 0 || usual_ns <= 0) return std::nullopt;
  const double more_bytes = own_bytes / usual_bytes - 1;
  if (std::abs(more_bytes) < kUnevenBytes || !IsPlausible((own_ns / usual_ns - 1) / more_bytes)) return std::nullopt;
  return own_ns;
}

}  // namespace eroica

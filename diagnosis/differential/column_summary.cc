#include "diagnosis/differential/column_summary.h"

#include <algorithm>
#include <array>

namespace eroica {
namespace {

// Independent partial results, so that the loops vectorize without reordering a sum or a maximum.
constexpr size_t kLanes = 16;

float MaxOf(const float* values, size_t rows) {
  std::array<float, kLanes> max{};
  size_t i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) max[lane] = values[i + lane] > max[lane] ? values[i + lane] : max[lane];
  }
  for (; i < rows; ++i) max[0] = values[i] > max[0] ? values[i] : max[0];
  return *std::max_element(max.begin(), max.end());
}

}  // namespace

ColumnSummary SummarizeColumns(const PatternColumns& columns, size_t rows) {
  ColumnSummary summary;
  for (size_t d = 0; d < kPatternDimensions; ++d) summary.max[d] = MaxOf(columns[d], rows);
  if (summary.max[1] == 0 && summary.max[2] == 0) return summary;
  constexpr size_t kBlock = 4'096;
  for (size_t first = 0; first < rows; first += kBlock) {
    int32_t count = 0;
    for (size_t i = first; i < std::min(rows, first + kBlock); ++i) count += columns[1][i] + columns[2][i] > 0 ? 1 : 0;
    summary.with_resource += static_cast<size_t>(count);
  }
  return summary;
}

float ExpectationDistance(const PatternPoint& point, const ExpectationRange& range) {
  float distance = 0;
  for (size_t d = 0; d < kPatternDimensions; ++d) {
    distance += std::max(0.0f, range.low[d] - point[d]) + std::max(0.0f, point[d] - range.high[d]);
  }
  return distance;
}

UnexpectedRows CountUnexpected(const PatternColumns& columns, size_t rows, const ExpectationRange& range, double min_beta) {
  UnexpectedRows result;
  for (size_t i = 0; i < rows; ++i) {
    const PatternPoint point{columns[0][i], columns[1][i], columns[2][i]};
    const float distance = ExpectationDistance(point, range);
    const bool counts = distance > 0 && static_cast<double>(point[0]) > min_beta;
    result.count += counts ? 1 : 0;
    result.distance_sum += counts ? static_cast<double>(distance) : 0;
  }
  return result;
}

}  // namespace eroica

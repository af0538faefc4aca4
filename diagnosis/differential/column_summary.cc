#include "diagnosis/differential/column_summary.h"

#include <algorithm>
#include <array>

namespace eroica {
namespace {

// Independent partial results, so that the loops vectorize without reordering a sum or a maximum.
constexpr size_t kLanes = 16;
constexpr size_t kBlockRows = 1'024;

float MaxOf(const float* values, size_t rows) {
  std::array<float, kLanes> max{};
  size_t i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      max[lane] = values[i + lane] > max[lane] ? values[i + lane] : max[lane];
  }
  for (; i < rows; ++i) max[0] = values[i] > max[0] ? values[i] : max[0];
  return *std::max_element(max.begin(), max.end());
}

void AddOutside(const float* values, size_t rows, float low, float high, float* distance) {
  for (size_t i = 0; i < rows; ++i) {
    const float below = low - values[i];
    const float above = values[i] - high;
    distance[i] += (below > 0 ? below : 0) + (above > 0 ? above : 0);
  }
}

double SumOf(const float* values, size_t rows) {
  std::array<float, kLanes> sum{};
  size_t i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sum[lane] += values[i + lane];
  }
  for (; i < rows; ++i) sum[0] += values[i];
  double total = 0;
  for (const float lane : sum) total += static_cast<double>(lane);
  return total;
}

}  // namespace

ColumnSummary SummarizeColumns(const PatternColumns& columns, size_t rows) {
  ColumnSummary summary;
  for (size_t d = 0; d < kPatternDimensions; ++d) summary.max[d] = MaxOf(columns[d], rows);
  if (summary.max[1] == 0 && summary.max[2] == 0) return summary;
  for (size_t first = 0; first < rows; first += kBlockRows) {
    int32_t count = 0;
    for (size_t i = first; i < std::min(rows, first + kBlockRows); ++i)
      count += columns[1][i] + columns[2][i] > 0 ? 1 : 0;
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

UnexpectedRows CountUnexpected(const PatternColumns& columns, size_t rows,
                               const ExpectationRange& range, float min_beta) {
  UnexpectedRows result;
  std::array<float, kBlockRows> distance;
  for (size_t first = 0; first < rows; first += kBlockRows) {
    const size_t count = std::min(kBlockRows, rows - first);
    std::fill_n(distance.begin(), count, 0.0f);
    for (size_t d = 0; d < kPatternDimensions; ++d) {
      if (range.low[d] > 0 || range.high[d] < 1)
        AddOutside(columns[d] + first, count, range.low[d], range.high[d], distance.data());
    }
    const float* beta = columns[0] + first;
    int32_t unexpected = 0;
    for (size_t i = 0; i < count; ++i) {
      distance[i] = beta[i] > min_beta ? distance[i] : 0;
      unexpected += distance[i] > 0 ? 1 : 0;
    }
    result.count += static_cast<uint32_t>(unexpected);
    result.distance_sum += SumOf(distance.data(), count);
  }
  return result;
}

}  // namespace eroica

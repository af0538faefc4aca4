#include "diagnosis/robust_statistics.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace eroica {
namespace {

uint64_t Total(std::span<const uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

// The value at a position of the sorted population.
size_t ValueAt(std::span<const uint64_t> counts, uint64_t position) {
  uint64_t below = 0;
  for (size_t value = 0; value < counts.size(); ++value) {
    below += counts[value];
    if (position < below) return value;
  }
  return counts.size() - 1;
}

double MedianOfCounts(std::span<const uint64_t> counts, uint64_t total) {
  const auto upper = static_cast<double>(ValueAt(counts, total / 2));
  if (total % 2 == 1) return upper;
  return (static_cast<double>(ValueAt(counts, total / 2 - 1)) + upper) / 2;
}

}  // namespace

double WeightedQuantile(std::span<Weighted> values, double share) {
  std::ranges::sort(values, {}, &Weighted::value);
  double all = 0;
  for (const Weighted& entry : values) all += entry.weight;
  double below = 0;
  for (const Weighted& entry : values) {
    below += entry.weight;
    if (below >= share * all) return entry.value;
  }
  return 0;
}

double WeightedMedian(std::span<Weighted> values, double guess) {
  double all = 0;
  double below = 0;
  for (const Weighted& entry : values) {
    all += entry.weight;
    below += entry.value < guess ? entry.weight : 0;
  }
  const double half = all / 2;
  if (!(half > 0)) return 0;
  // Only the side of the guess that the median lies on is left; where that is below, with opposite
  // signs, so that the next value is always the least.
  const bool up = below < half;
  const double sign = up ? 1 : -1;
  size_t left = 0;
  for (const Weighted entry : values) {
    values[left] = {sign * entry.value,
                    entry.weight};  // no branch: whether it stays is seen by the next
    left += static_cast<size_t>((entry.value < guess) != up);
  }
  double reached = up ? below : all - below;
  while (true) {
    Weighted& next = *std::ranges::min_element(values.first(left), {}, &Weighted::value);
    reached += next.weight;
    if (left == 1 || (up ? reached >= half : reached > half)) return sign * next.value;
    next = values[--left];
  }
}

MedianAndMad MedianAndMadOfCounts(std::span<const uint64_t> counts) {
  const uint64_t total = Total(counts);
  if (total == 0) return {};
  MedianAndMad result{.median = MedianOfCounts(counts, total)};
  // The median is a multiple of one half, so twice the deviations are whole numbers again.
  const auto twice_median = static_cast<size_t>(2 * result.median);
  std::vector<uint64_t> deviations(2 * counts.size(), 0);
  for (size_t value = 0; value < counts.size(); ++value) {
    const size_t twice = 2 * value;
    deviations[twice > twice_median ? twice - twice_median : twice_median - twice] += counts[value];
  }
  result.mad = MedianOfCounts(deviations, total) / 2;
  return result;
}

double SpentOnQuestion(double n) {
  const double nth = std::numbers::pi * std::max(1.0, n);
  return 6 / (nth * nth);
}

double CorrelationOf(std::span<const double> values) {
  constexpr size_t kFewest = 8;
  constexpr double kMost = 0.95;
  if (values.size() < kFewest) return 0;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  double products = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
    if (i > 0) products += (values[i] - mean) * (values[i - 1] - mean);
  }
  return squares > 0 ? std::clamp((products / squares + 1 / count) / (1 - 4 / count), 0.0, kMost)
                     : 0;
}

double ErrorFactor(size_t n, double correlation) {
  const auto count = static_cast<double>(n);
  double v = 1;
  for (size_t k = 1; k < n; ++k)
    v += 2 * (1 - static_cast<double>(k) / count) * std::pow(correlation, static_cast<double>(k));
  return v < count ? v * (count - 1) / (count - v) : std::numeric_limits<double>::infinity();
}

}  // namespace eroica

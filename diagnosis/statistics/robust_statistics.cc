#include "diagnosis/statistics/robust_statistics.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace eroica {
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

namespace {

// n times the variance of the mean of n values in a row, over their own variance (AR(1)).
double TimesOfMean(size_t n, double correlation) {
  const auto count = static_cast<double>(n);
  double v = 1;
  for (size_t k = 1; k < n; ++k)
    v += 2 * (1 - static_cast<double>(k) / count) * std::pow(correlation, static_cast<double>(k));
  return v;
}

// Products of neighbors over squares, as expected of n values in a row less their mean.
double ExpectedRatio(size_t n, double correlation) {
  const auto count = static_cast<double>(n);
  const double v = TimesOfMean(n, correlation);
  double of_first = 0;  // n times the covariance of the first value and the mean
  for (size_t k = 0; k < n; ++k) of_first += std::pow(correlation, static_cast<double>(k));
  const double products =
      (count - 1) * correlation - 2 * v + 2 * of_first / count + (count - 1) * v / count;
  return products / (count - v);
}

}  // namespace

double ErrorFactor(size_t n, double correlation) {
  const auto count = static_cast<double>(n);
  const double v = TimesOfMean(n, correlation);
  return v < count ? v * (count - 1) / (count - v) : std::numeric_limits<double>::infinity();
}

double CorrelationOfRows(size_t n, double squares, double products) {
  constexpr double kMost = 0.95;
  constexpr int kHalvings = 20;
  if (n < 3 || squares <= 0) return 0;
  const double ratio = products / squares;
  double low = 0;
  double high = kMost;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (ExpectedRatio(n, middle) < ratio ? low : high) = middle;
  }
  return low;
}

}  // namespace eroica

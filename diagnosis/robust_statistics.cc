#include "diagnosis/robust_statistics.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "schemas/check.h"

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

// Continued fraction of the incomplete beta function by Lentz's method; converges fast for x < (a +
// 1) / (a + b + 2). (Abramowitz and Stegun 26.5.8)
double BetaFraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 500;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int term = 1; term <= kMostTerms; ++term) {
    const double m = term;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    const double step = d * c;
    result *= step;
    if (std::abs(step - 1) < 1e-14) break;
  }
  return result;
}

// Regularized incomplete beta function.
double IncompleteBeta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * BetaFraction(x, a, b) / a
                                   : 1 - front * BetaFraction(1 - x, b, a) / b;
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

double BinomialTail(uint64_t n, uint64_t k, double p) {
  if (k == 0) return 1;
  if (k > n || p <= 0) return 0;
  if (p >= 1) return 1;
  const auto trials = static_cast<double>(n);
  const auto successes = static_cast<double>(k);
  const double log_first = std::lgamma(trials + 1) - std::lgamma(successes + 1) -
                           std::lgamma(trials - successes + 1) + successes * std::log(p) +
                           (trials - successes) * std::log1p(-p);
  // Terms relative to the first; beyond the mode they fall geometrically.
  const double odds = p / (1 - p);
  double term = 1;
  double sum = 1;
  for (uint64_t i = k; i < n; ++i) {
    const double ratio = static_cast<double>(n - i) / static_cast<double>(i + 1) * odds;
    term *= ratio;
    sum += term;
    if (ratio < 1 && term < sum * 1e-16) break;
  }
  return std::min(1.0, std::exp(log_first + std::log(sum)));
}

double SpentOnQuestion(double n) {
  const double nth = std::numbers::pi * std::max(1.0, n);
  return 6 / (nth * nth);
}

double StudentTail(double t, double freedom) {
  EROICA_CHECK(freedom > 0);
  const double both_sides = IncompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);
  return t >= 0 ? both_sides / 2 : 1 - both_sides / 2;
}

double NormalTail(double deviations) { return std::erfc(deviations / std::numbers::sqrt2) / 2; }

double NormalDeviations(double chance) {
  constexpr double kMost = 38;  // beyond, the chance is no double
  constexpr int kSteps = 20;
  if (chance >= 0.5) return 0;
  // Newton on the logarithm of the tail, which is concave: from above it comes down to the root and
  // never passes it.
  double deviations = chance > 0 ? std::min(kMost, std::sqrt(-2 * std::log(chance))) : kMost;
  for (int i = 0; i < kSteps; ++i) {
    const double tail = NormalTail(deviations);
    const double density = std::exp(-deviations * deviations / 2) / std::sqrt(2 * std::numbers::pi);
    if (tail <= 0 || density <= 0 || chance <= 0) break;
    const double step = std::log(chance / tail) * tail / density;
    deviations -= step;
    if (std::abs(step) < 1e-9) break;
  }
  return deviations;
}

double FisherTail(double f, double above, double below) {
  EROICA_CHECK(above > 0 && below > 0);
  return f > 0 ? IncompleteBeta(below / (below + above * f), below / 2, above / 2) : 1;
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

std::vector<double> MeanManhattanDistances(std::span<const std::vector<float>> dimensions) {
  const size_t n = dimensions.empty() ? 0 : dimensions.front().size();
  std::vector<double> distances(n, 0);
  if (n < 2) return distances;
  std::vector<uint32_t> order(n);
  for (const std::vector<float>& values : dimensions) {
    EROICA_CHECK(values.size() == n);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return values[a] < values[b]; });
    double total = 0;
    for (const float value : values) total += static_cast<double>(value);
    double below = 0;  // sum of the values before position i
    for (size_t i = 0; i < n; ++i) {
      const auto value = static_cast<double>(values[order[i]]);
      const double above = total - below - value;
      distances[order[i]] +=
          value * static_cast<double>(i) - below + above - value * static_cast<double>(n - 1 - i);
      below += value;
    }
  }
  for (double& distance : distances)
    distance = std::max(0.0, distance / static_cast<double>(n - 1));
  return distances;
}

}  // namespace eroica

// Statistics that a few wild values cannot move. All functions of spans may reorder what they are
// given; of nothing they return 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/statistics/around_middle.h"

namespace eroica {

// A MAD times this estimates the standard deviation of normal data; so does the 90 % quantile of |x
// - median| divided by kSigmaPerNinetieth.
inline constexpr double kSigmaPerMad = 1.4826;
inline constexpr double kSigmaPerNinetieth = 1.6449;

// Of an even number of values the mean of the two in the middle.
template <typename T>
double Median(std::span<T> values) {
  if (values.empty()) return 0;
  const AroundMiddle<T> around(values);
  const auto first = around.values().begin();
  const auto middle = first + around.middle();
  std::nth_element(first, middle, around.values().end());
  const auto upper = static_cast<double>(*middle);
  if (values.size() % 2 == 1) return upper;
  return (static_cast<double>(*std::max_element(first, middle)) + upper) / 2;
}

struct MedianAndMad {
  double median = 0;
  double mad = 0;  // median of |x - median|
};

// Overwrites the values with their distances from the median.
template <typename T>
MedianAndMad TakeMedianAndMad(std::span<T> values) {
  MedianAndMad result{.median = Median(values)};
  for (T& value : values)
    value = static_cast<T>(std::abs(static_cast<double>(value) - result.median));
  result.mad = Median(values);
  return result;
}

struct Weighted {
  double value = 0;
  double weight = 0;
};

// What all of the weight but `share` reaches: that much lies below. A third: what most of a whole
// reaches, whatever a part of it does.
double WeightedQuantile(std::span<Weighted> values, double share);
// The same of a half, near a guess: goes from there value by value, so that a good guess costs a
// few looks at half of them and no sorting. Overwrites the values.
double WeightedMedian(std::span<Weighted> values, double guess);

// What the n-th question of a job may cost of the false alarms that all its questions may cost
// together: 6 / (pi n)^2, which adds up to 1 over all n from 1 on (alpha spending: Lan and DeMets,
// Biometrika 70, 1983).
double SpentOnQuestion(double n);

// How values in a row go with those before them, 0 to 0.95: without what the bias of few values
// takes (Kendall: -(1 + 4 rho) / n). Of fewer than eight, which show nothing of it, 0.
double CorrelationOf(std::span<const double> values);

// By how much more the mean of n values in a row varies, in squares, than their own variance lets
// expect, where each goes with the one before by `correlation` (AR(1)): v (n - 1) / (n - v), v = 1
// + 2 sum over k of (1 - k/n) correlation^k. (Law, Simulation Modeling and Analysis, 4.4: variance
// of the mean, and bias of the sample variance, of correlated values)
double ErrorFactor(size_t n, double correlation);

// How much each value goes with the one before (AR(1), from 0 to 0.95), from what short rows of n
// values show, pooled: their sums of squares, and of products of neighbors, each value less its
// row's mean. That mean takes a part of the correlation away, which is given back: of four
// independent values in a row neighbors seem to go against each other by a quarter.
double CorrelationOfRows(size_t n, double squares, double products);

}  // namespace eroica

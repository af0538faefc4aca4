#include "tests/evaluation/simulate/noise.h"

namespace eroica::simulate {
namespace {

// e^x for |x| < 8 as a Taylor series of x / 256, squared eight times.
double Exponential(double x) {
  const double small = x / 256;
  double result = 1 + small * (1 + small / 2 * (1 + small / 3 * (1 + small / 4)));
  for (int i = 0; i < 8; ++i) result *= result;
  return result;
}

// The standard normal's quantile by stepping along its distribution function: dx = dp / density(x),
// in steps small enough (fourth order, from the median outward).
double StepQuantile(double x, double dp) {
  constexpr double kRootOfTwoPi = 2.5066282746310002;
  const auto slope = [](double at) { return kRootOfTwoPi * Exponential(at * at / 2); };
  const double k1 = slope(x);
  const double k2 = slope(x + dp / 2 * k1);
  const double k3 = slope(x + dp / 2 * k2);
  const double k4 = slope(x + dp * k3);
  return x + dp / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
}

}  // namespace

LogNormalTable::LogNormalTable(double sigma) {
  constexpr size_t kHalf = (size_t{1} << kBits) / 2;
  constexpr double kStep = 1.0 / static_cast<double>(size_t{1} << kBits);
  // Quantiles in the middles of equal slices of probability, the upper half mirrored to the lower.
  double x = StepQuantile(0, kStep / 2);
  for (size_t i = 0; i < kHalf; ++i) {
    factors_[kHalf + i] = ToFactor(Exponential(sigma * x));
    factors_[kHalf - 1 - i] = ToFactor(Exponential(-sigma * x));
    if (i + 1 < kHalf) x = StepQuantile(x, kStep);
  }
}

}  // namespace eroica::simulate

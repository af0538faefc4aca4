#include "diagnosis/hypotheses/signature.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "diagnosis/deciding_numbers.h"

namespace eroica {
namespace {

constexpr int kSizes = 41;  // of the fault, that are tried
constexpr double kSmallest = 0.2;
constexpr double kLargest = 2;
constexpr double kWidth = 3;  // of "anything": from minus one and a half times the scale to plus

double NormalDensity(double deviations) {
  return std::exp(-deviations * deviations / 2) / std::sqrt(2 * std::numbers::pi);
}

double NormalBelow(double deviations) { return std::erfc(-deviations / std::numbers::sqrt2) / 2; }

double AnythingDensity(double scale) { return 1 / (kWidth * scale); }

// Of a value that lies anywhere between the two, seen with an error.
double DensityBetween(double value, double least, double most, double error) {
  if (most - least <= error * 1e-3) return NormalDensity((value - least) / error) / error;
  return (NormalBelow((value - least) / error) - NormalBelow((value - most) / error)) /
         (most - least);
}

double Density(const Observation& observation, double of_fault, double scale) {
  const auto& [change, response, part_of] = observation;
  const double size = part_of.value_or(of_fault);
  const double error = std::hypot(change.error, kEffectTolerance * std::abs(size));
  const double least = std::min(response.least * size, response.most * size);
  const double most = std::max(response.least * size, response.most * size);
  const double present = DensityBetween(change.value, least, most, error);
  const double absent = response.none > 0 ? NormalDensity(change.value / error) / error : 0;
  return (1 - kOddMeasurement) * ((1 - response.none) * present + response.none * absent) +
         kOddMeasurement * AnythingDensity(scale);
}

}  // namespace

double LogLikelihood(std::span<const Observation> observations, double scale) {
  double sum = 0;
  for (int i = 0; i < kSizes; ++i) {
    const double size =
        scale * kSmallest * std::pow(kLargest / kSmallest, static_cast<double>(i) / (kSizes - 1));
    double likelihood = 1;
    for (const Observation& observation : observations)
      likelihood *= Density(observation, size, scale);
    sum += likelihood;
  }
  return std::log(std::max(sum / kSizes, 1e-300));
}

double LogLikelihoodOfAnything(size_t observations, double scale) {
  return static_cast<double>(observations) * std::log(AnythingDensity(scale));
}

}  // namespace eroica

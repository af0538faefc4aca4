#include "tests/evaluation/simulate/noise.h"

#include <algorithm>
#include <cmath>

#include "schemas/check.h"

namespace eroica::simulate {
namespace {

constexpr double kMostLog = 7;

// e^x for |x| < 8 as a Taylor series of x / 256, squared eight times.
double Exponential(double x) {
  const double small = x / 256;
  double result = 1 + small * (1 + small / 2 * (1 + small / 3 * (1 + small / 4)));
  for (int i = 0; i < 8; ++i) result *= result;
  return result;
}

// One over the density of a distribution around 0, at x.
class Normal {
 public:
  double operator()(double x) const {
    constexpr double kRootOfTwoPi = 2.5066282746310002;
    return kRootOfTwoPi * Exponential(x * x / 2);
  }
};

class StudentT {
 public:
  explicit StudentT(uint32_t degrees) : degrees_(degrees) {
    constexpr double kPi = 3.141592653589793;
    // Gamma((d + 1) / 2) / Gamma(d / 2), from one degree to the next.
    double ratio = 1 / std::sqrt(kPi);
    for (uint32_t d = 1; d < degrees; ++d) ratio = d / 2.0 / ratio;
    peak_ = ratio / std::sqrt(degrees * kPi);
  }

  double operator()(double x) const {
    const double base = 1 + x * x / degrees_;
    double power = (degrees_ + 1) % 2 == 0 ? 1 : std::sqrt(base);
    for (uint32_t i = 0; i < (degrees_ + 1) / 2; ++i) power *= base;
    return power / peak_;
  }

 private:
  uint32_t degrees_;
  double peak_ = 0;
};

// A quantile by stepping along the distribution function: dx = dp / density(x), in steps small
// enough (fourth order, from the median outward).
template <typename Slope>
double StepQuantile(double x, double dp, const Slope& slope) {
  const double k1 = slope(x);
  const double k2 = slope(x + dp / 2 * k1);
  const double k3 = slope(x + dp / 2 * k2);
  const double k4 = slope(x + dp * k3);
  return x + dp / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
}

// The upper half is mirrored to the lower. substeps: from one quantile to the next.
template <typename Slope>
void Fill(const Slope& slope, int substeps, double scale,
          std::array<double, size_t{1} << Quantiles::kBits>& quantiles) {
  const size_t half = quantiles.size() / 2;
  constexpr double kStep = 1.0 / static_cast<double>(size_t{1} << Quantiles::kBits);
  const double step = kStep / substeps;
  double x = StepQuantile(0, step / 2, slope);
  for (int i = 1; i < substeps; ++i) x = StepQuantile(x, step / 2, slope);
  for (size_t i = 0; i < half; ++i) {
    quantiles[half + i] = x * scale;
    quantiles[half - 1 - i] = -(x * scale);
    if (i + 1 == half) break;
    for (int substep = 0; substep < substeps; ++substep) x = StepQuantile(x, step, slope);
  }
}

}  // namespace

Factor LogFactor(double log) { return ToFactor(Exponential(std::clamp(log, -kMostLog, kMostLog))); }

Quantiles::Quantiles(uint32_t tail_degrees) {
  if (tail_degrees == 0) {
    Fill(Normal(), 1, 1, quantiles_);
    return;
  }
  EROICA_CHECK(tail_degrees > 2);
  constexpr int kSubsteps = 16;  // the last quantiles of a heavy tail lie far apart
  const double degrees = tail_degrees;
  Fill(StudentT(tail_degrees), kSubsteps, std::sqrt((degrees - 2) / degrees), quantiles_);
}

LogNormalTable::LogNormalTable(double sigma, uint32_t tail_degrees) {
  const Quantiles quantiles(tail_degrees);
  for (size_t i = 0; i < factors_.size(); ++i) factors_[i] = LogFactor(sigma * quantiles.all()[i]);
}

CorrelatedNoise::CorrelatedNoise(double correlation, uint32_t tail_degrees)
    : quantiles_(tail_degrees) {
  EROICA_CHECK(correlation >= 0 && correlation <= 0.95);
  constexpr double kCounts = 0.01;
  double weight = std::sqrt(1 - correlation * correlation);
  for (double share = 1; share >= kCounts; share *= correlation) {
    weights_.push_back(weight);
    weight *= correlation;
  }
}

double CorrelatedNoise::Of(uint64_t key, uint32_t step) const {
  double sum = 0;
  for (size_t back = 0; back < weights_.size(); ++back)
    sum += weights_[back] * quantiles_.Of(NoiseKey(key, uint64_t{step} - back, 0));
  return sum;
}

}  // namespace eroica::simulate

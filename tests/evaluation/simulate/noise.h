// Randomness that depends on what it is for and on nothing else: a hash of (seed, rank, step,
// number), so that no order of computing changes it, on no machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

// SplitMix64's finalizer (Steele et al., OOPSLA'14).
constexpr uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}
constexpr uint64_t NoiseKey(uint64_t seed, uint64_t a, uint64_t b, uint64_t c = 0) {
  return Mix(Mix(Mix(seed ^ Mix(a)) ^ b) ^ c);
}
// [0, 1)
constexpr double UniformOf(uint64_t key) { return static_cast<double>(key >> 11) * 0x1.0p-53; }

// e^log, for logs beyond 7 in either direction that of 7. Additions, multiplications and divisions
// only, like all that follows (and square roots, which every machine rounds the same).
Factor LogFactor(double log);

// A distribution of mean 0 and standard deviation 1, as the quantiles in the middles of 4,096 equal
// slices of probability: a draw costs one load.
class Quantiles {
 public:
  // Student's t of so many degrees of freedom, at least 3; 0: the normal distribution.
  explicit Quantiles(uint32_t tail_degrees);
  double Of(uint64_t key) const { return quantiles_[key >> (64 - kBits)]; }

  static constexpr int kBits = 12;
  const std::array<double, size_t{1} << kBits>& all() const { return quantiles_; }

 private:
  std::array<double, size_t{1} << kBits> quantiles_;
};

// Factors of median 1 whose logarithms have the standard deviation sigma: log-normal, or with the
// heavier tails of Student's t (Quantiles).
class LogNormalTable {
 public:
  explicit LogNormalTable(double sigma, uint32_t tail_degrees = 0);
  Factor Of(uint64_t key) const { return factors_[key >> (64 - Quantiles::kBits)]; }

 private:
  std::array<Factor, size_t{1} << Quantiles::kBits> factors_;
};

// What the steps of one thing have in common with their neighbors: a first-order autoregression of
// mean 0 and standard deviation 1. Each step is summed from its own draws and those of the steps
// before, as far back as they count for a hundredth: any step at any time.
class CorrelatedNoise {
 public:
  // correlation: with the step before, at most 0.95; tail_degrees: as of Quantiles.
  CorrelatedNoise(double correlation, uint32_t tail_degrees);
  // key: of the thing.
  double Of(uint64_t key, uint32_t step) const;

 private:
  Quantiles quantiles_;
  std::vector<double> weights_;  // of the step itself, of the one before, ...
};

// Factors spread evenly around 1 with the given standard deviation (at most 0.5), for what is too
// short for its tail to matter: no table, no load.
class UniformNoise {
 public:
  explicit UniformNoise(double sigma) : width_(ToFactor(sigma * 3.4641016151377544)) {}
  Factor Of(uint64_t key) const {
    return static_cast<Factor>(kUnit - width_ / 2 + (((key & 0xFFFF) * width_) >> 16));
  }

 private:
  Factor width_;
};

}  // namespace eroica::simulate

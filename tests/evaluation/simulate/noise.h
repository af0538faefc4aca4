// Randomness that depends on what it is for and on nothing else: a hash of (seed, rank, step,
// number), so that no order of computing changes it, on no machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

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

// Log-normal factors of median 1 as a table of quantiles: a duration's noise costs one load.
// Computed with additions, multiplications and divisions only.
class LogNormalTable {
 public:
  explicit LogNormalTable(double sigma);
  Factor Of(uint64_t key) const { return factors_[key >> (64 - kBits)]; }

 private:
  static constexpr int kBits = 12;
  std::array<Factor, size_t{1} << kBits> factors_;
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

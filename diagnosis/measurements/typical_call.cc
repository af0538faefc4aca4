#include "diagnosis/measurements/typical_call.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace eroica {
namespace {

constexpr size_t kDeciles = 9;
using Deciles = std::array<double, kDeciles>;

// Within a bucket calls count as evenly spread.
Deciles DecilesOf(const DurationHistogram& histogram) {
  const auto total = static_cast<double>(histogram.count());
  Deciles deciles{};
  size_t next = 0;
  double before = 0;
  for (const auto& [bucket, count] : histogram.buckets()) {
    const auto least = static_cast<double>(DurationHistogram::LowerBound(bucket));
    const auto most = static_cast<double>(DurationHistogram::UpperBound(bucket));
    for (; next < kDeciles; ++next) {
      const double rank = total * static_cast<double>(next + 1) / (kDeciles + 1);
      if (rank > before + count) break;
      deciles[next] = least + (most - least) * (rank - before) / count;
    }
    before += count;
  }
  return deciles;
}

}  // namespace

double TypicalCallGrowth(const DurationHistogram& own, const DurationHistogram& usual) {
  if (own.empty() || usual.empty()) return 0;
  const Deciles longer = DecilesOf(own);
  const Deciles than = DecilesOf(usual);
  Deciles growths{};
  for (size_t i = 0; i < kDeciles; ++i) growths[i] = than[i] > 0 ? longer[i] / than[i] - 1 : 0;
  std::ranges::nth_element(growths, growths.begin() + kDeciles / 2);
  return growths[kDeciles / 2];
}

}  // namespace eroica

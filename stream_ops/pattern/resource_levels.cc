#include "stream_ops/pattern/resource_levels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "stream_ops/pattern/sample_steps.h"

namespace eroica {
namespace {

struct Sum {
  uint64_t samples = 0;
  uint64_t steps = 0;
  uint64_t most = 0;
};

}  // namespace

std::vector<ResourceLevel> LevelsOf(std::span<const ResourceSample> samples) {
  std::array<Sum, kResourceCount> sums{};
  for (const ResourceSample& sample : samples) {
    const double share = std::clamp(static_cast<double>(sample.value), 0.0, 1.0);
    const auto steps = static_cast<uint64_t>(std::lround(share * kSampleSteps));
    Sum& sum = sums[static_cast<size_t>(sample.resource)];
    ++sum.samples;
    sum.steps += steps;
    sum.most = std::max(sum.most, steps);
  }
  std::vector<ResourceLevel> levels;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].samples == 0) continue;
    levels.push_back({.resource = static_cast<Resource>(i),
                      .mean = static_cast<double>(sums[i].steps) /
                              (kSampleSteps * static_cast<double>(sums[i].samples)),
                      .max = static_cast<float>(static_cast<double>(sums[i].most) / kSampleSteps),
                      .samples = sums[i].samples});
  }
  return levels;
}

}  // namespace eroica

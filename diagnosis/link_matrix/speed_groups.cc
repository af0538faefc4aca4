#include "diagnosis/link_matrix/speed_groups.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

HealthySpeed Describe(std::span<const double> logarithms) {
  std::vector<double> values(logarithms.begin(), logarithms.end());
  const MedianAndMad statistics = TakeMedianAndMad(std::span(values));
  return {.speed = std::exp(statistics.median), .spread = statistics.mad};
}

// Where the largest step up is: the faster group begins there.
size_t LargestStep(std::span<const double> ascending) {
  size_t at = 1;
  for (size_t i = 2; i < ascending.size(); ++i) {
    if (ascending[i] - ascending[i - 1] > ascending[at] - ascending[at - 1]) at = i;
  }
  return at;
}

// Probability that noise makes any of the speeds of a healthy window lie as low.
constexpr double kMaxPValue = 0.001;

}  // namespace

double SpreadsBeyondNoise(size_t speeds) {
  return kSigmaPerMad *
         std::sqrt(2 * std::log(static_cast<double>(std::max<size_t>(1, speeds)) / kMaxPValue));
}

HealthySpeed FindHealthySpeed(std::span<double> speeds) {
  if (speeds.empty()) return {};
  std::sort(speeds.begin(), speeds.end());
  std::vector<double> logarithms;
  for (const double speed : speeds) logarithms.push_back(std::log(speed));
  const std::span<const double> all(logarithms);
  HealthySpeed healthy = Describe(all);
  if (all.size() > 2) {
    const size_t first = LargestStep(all);
    const HealthySpeed faster = Describe(all.subspan(first));
    const HealthySpeed slower = Describe(all.first(first));
    const double step = all[first] - all[first - 1];
    const bool apart =
        step >= -std::log(kSlowShare) &&
        step >= SpreadsBeyondNoise(all.size()) * std::max(faster.spread, slower.spread);
    const size_t members = all.size() - first;
    if (apart && members >= 2 && 4 * members >= all.size()) healthy = faster;
  }
  if (all.size() < kFewSpeeds) healthy.spread = std::max(healthy.spread, kFewSpread);
  return healthy;
}

}  // namespace eroica

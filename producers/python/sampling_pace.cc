#include "producers/python/sampling_pace.h"

#include <algorithm>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

// 2^32 divided by the golden ratio.
constexpr uint32_t kGoldenTurn = 2'654'435'769;

}  // namespace

int64_t SamplingPace::NextNs() {
  turn_ += kGoldenTurn;
  const double part = 0.5 + static_cast<double>(turn_) / 4'294'967'296.0;
  return static_cast<int64_t>(part * static_cast<double>(period_ns_));
}

void SamplingPace::Tick(int64_t now_ns, int64_t own_cpu_ns, int64_t training_cpu_ns) {
  if (second_.begin_ns == 0) second_ = {now_ns, own_cpu_ns, training_cpu_ns, 0};
  const int64_t length_ns = now_ns - second_.begin_ns;
  if (length_ns < kNsPerSecond) {
    ++second_.samples;
    return;
  }
  const auto own_ns = static_cast<double>(own_cpu_ns - second_.own_cpu_ns);
  const auto training_ns = static_cast<double>(training_cpu_ns - second_.training_cpu_ns);
  const double a_sample_ns = own_ns / std::max(1, second_.samples);
  const double allowed = kShare * std::max(0.0, training_ns) / static_cast<double>(length_ns);
  const int64_t longest_ns = std::max(shortest_ns_, kLongestPeriodNs);
  const double wanted_ns = allowed > 0 ? a_sample_ns / allowed : static_cast<double>(longest_ns);
  period_ns_ = static_cast<int64_t>(
      std::clamp(wanted_ns, static_cast<double>(shortest_ns_), static_cast<double>(longest_ns)));
  second_ = {now_ns, own_cpu_ns, training_cpu_ns, 1};
}

}  // namespace eroica

#include "diagnosis/hypotheses/device_cause.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "diagnosis/deciding_numbers.h"

namespace eroica {
namespace {

constexpr double kSteady = 0.75;  // of the steps: in fewer the median call says nothing

using CauseResponses = std::array<Response, kKernelMeasurementCount>;

// Of the clock and use: as usual, or a little off; and of who is busier.
constexpr Response kUsual = {.least = -0.3, .most = 0.25, .none = 0.5};
constexpr Response kBusier = {.least = -0.5, .most = 0.1, .none = 0.5};

// In the order of KernelMeasurement. What arithmetic bounds, memory bounds in part, and the other
// way round; what pauses adds as much to short calls as to long ones, and may miss a short
// optimizer; attention grows with the square of the lengths; who is busier is seen at a higher use
// of the clock, never at a lower one; links of a slower device are slow in part, or not at all.
// Typical calls are a part of all calls.
constexpr std::array<CauseResponses, kDeviceCauseCount> kTable = {{
    // compute, memory, parameters, typical, calls, clock, links
    {{{1, 1}, {0, 1}, {0, 1}, {0.75, 1.25}, {}, {0.5, 1.2}, {0, 1, 0.5}}},
    {{{0, 0.6}, {1, 1}, {0.5, 1.2}, {0.5, 1.5}, {}, kUsual, {0, 1, 0.5}}},
    {{{1, 1}, {0.8, 1.2}, {0.7, 1.3}, {0.75, 1.25}, {}, kUsual, {0.5, 2, 0.5}}},
    {{{1, 1}, {0.3, 2}, {0.3, 2, 0.1}, {0, 0.5}, {}, {-0.3, 1.2, 0.5}, {0, 1, 0.5}}},
    {{{1, 1}, {0.5, 1.5}, {}, {0.75, 1.25}, {}, kBusier, {}}},
    {{{}, {}, {0, 1.2}, {}, {1, 1}, kBusier, {}}},
}};

bool IsOfDevice(DeviceCause cause) { return cause <= DeviceCause::kPauses; }

bool IsGrowth(KernelMeasurement which) {
  return which == KernelMeasurement::kCompute || which == KernelMeasurement::kMemory ||
         which == KernelMeasurement::kParameters || which == KernelMeasurement::kCalls;
}

double ScaleOf(const KernelChanges& changes) {
  constexpr double kLeast = 1e-3;
  double scale = kLeast;
  for (size_t i = 0; i < changes.of.size(); ++i) {
    if (changes.of[i] && IsGrowth(static_cast<KernelMeasurement>(i)))
      scale = std::max(scale, changes.of[i]->value);
  }
  return scale;
}

std::vector<Observation> ObservationsOf(const KernelChanges& changes, DeviceCause cause) {
  const std::optional<Change>& compute = changes[KernelMeasurement::kCompute];
  std::vector<Observation> observations;
  for (size_t i = 0; i < changes.of.size(); ++i) {
    if (!changes.of[i]) continue;
    const auto which = static_cast<KernelMeasurement>(i);
    Response response = kTable[static_cast<size_t>(cause)][i];
    if (which == KernelMeasurement::kTypical &&
        changes.slow_share.value_or(IsOfDevice(cause) ? 1 : 0) < kSteady)
      response.least = std::min(response.least, 0.0);
    std::optional<double> part_of;
    if (which == KernelMeasurement::kTypical && compute) part_of = compute->value;
    observations.push_back({*changes.of[i], response, part_of});
  }
  return observations;
}

// How much longer it makes what it bounds.
double Slowness(double clock) {
  constexpr double kLeastClock = 0.01;
  return 1 / std::max(kLeastClock, 1 + clock) - 1;
}

bool IsDecisive(double probability) { return probability >= kDecisive * (1 - probability); }

}  // namespace

Change ClockChangeBetween(double lowest, double highest, double error) {
  const double most = Slowness(lowest);
  const double least = Slowness(highest);
  return {.value = (least + most) / 2, .error = std::hypot(error, (most - least) / 2)};
}

KernelChanges ChangesOf(const KernelGrowths& growths, double error) {
  KernelChanges changes;
  changes[KernelMeasurement::kCompute] = growths.compute(error);
  changes[KernelMeasurement::kMemory] = growths.memory(error);
  changes[KernelMeasurement::kParameters] = growths.parameters(error);
  return changes;
}

DeviceCauses::DeviceCauses(const KernelChanges& changes, double device_odds) {
  const double scale = ScaleOf(changes);
  std::array<double, kDeviceCauseCount> logs{};
  size_t measured = 0;
  for (size_t i = 0; i < kDeviceCauseCount; ++i) {
    const std::vector<Observation> observations =
        ObservationsOf(changes, static_cast<DeviceCause>(i));
    measured = observations.size();
    logs[i] = LogLikelihood(observations, scale);
    if (IsOfDevice(static_cast<DeviceCause>(i))) logs[i] += std::log(device_odds);
  }
  if (!changes[KernelMeasurement::kCalls])
    logs[static_cast<size_t>(DeviceCause::kMoreLayers)] = -std::numeric_limits<double>::infinity();
  const double of_none = LogLikelihoodOfAnything(measured, scale) + std::log(kOddsOfNone);
  const double most = std::max(of_none, *std::ranges::max_element(logs));
  double sum = std::exp(of_none - most);
  for (const double log : logs) sum += std::exp(log - most);
  for (size_t i = 0; i < kDeviceCauseCount; ++i) of_[i] = std::exp(logs[i] - most) / sum;
}

double DeviceCauses::of_device() const {
  double sum = 0;
  for (size_t i = 0; i < kDeviceCauseCount; ++i)
    sum += IsOfDevice(static_cast<DeviceCause>(i)) ? of_[i] : 0;
  return sum;
}

double DeviceCauses::of_more_work() const {
  return probability(DeviceCause::kMoreData) + probability(DeviceCause::kMoreLayers);
}

std::optional<DeviceCause> DeviceCauses::decided() const {
  const auto most = std::ranges::max_element(of_);
  if (!IsDecisive(*most)) return std::nullopt;
  return static_cast<DeviceCause>(most - of_.begin());
}

std::vector<DeviceCause> DeviceCauses::of_device_undecided() const {
  constexpr double kTenth = 0.1;
  std::vector<DeviceCause> causes;
  for (size_t i = 0; i < kDeviceCauseCount; ++i) {
    const auto cause = static_cast<DeviceCause>(i);
    if (IsOfDevice(cause) && of_[i] >= kTenth * of_device()) causes.push_back(cause);
  }
  std::ranges::stable_sort(causes, std::greater<>(),
                           [this](DeviceCause cause) { return probability(cause); });
  return causes;
}

bool DeviceCauses::is_device() const { return IsDecisive(of_device()); }

bool DeviceCauses::is_more_work() const { return IsDecisive(of_more_work()); }

}  // namespace eroica

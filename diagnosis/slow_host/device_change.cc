#include "diagnosis/slow_host/device_change.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numbers>
#include <string_view>
#include <utility>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

struct PlaceCalls {
  double mean_ns = 0;
  double median_ns = 0;  // 0 where the histogram is not there
  double mu = 0;         // 0 where it is not sampled
  double step_ns = 0;
};

using Places = std::map<std::string_view, PlaceCalls>;  // by key
using Kernels = std::map<std::string_view, Places>;     // by name

Kernels KernelsOf(std::span<const FunctionPattern> rows) {
  Kernels kernels;
  for (const FunctionPattern& row : rows) {
    kernels[row.name][row.stack] = {.mean_ns = row.duration_mean_ns,
                                    .median_ns = static_cast<double>(row.histogram.Quantile(kHalf)),
                                    .mu = row.resource_samples > 0 ? row.mu : 0,
                                    .step_ns = static_cast<double>(row.critical_ns)};
  }
  return kernels;
}

// Now against then of one kernel.
struct Ratio {
  double own = 0;        // 0 where it is not known of one of the two
  double elsewhere = 1;  // median
  double spread = 0;     // median distance from 1 elsewhere
  double least() const { return std::min(own, own / elsewhere); }
  double most() const { return std::max(own, own / elsewhere); }
};

Ratio RatioOf(const Places& now, const Places& then, std::string_view place,
              double PlaceCalls::*value) {
  Ratio ratio;
  std::vector<double> others;
  std::vector<double> distances;
  for (const auto& [key, calls] : now) {
    const auto before = then.find(key);
    if (before == then.end() || before->second.*value <= 0) continue;
    const double change = calls.*value / (before->second.*value);
    if (key == place) {
      ratio.own = change;
    } else {
      others.push_back(change);
      distances.push_back(std::abs(change - 1));
    }
  }
  if (others.empty()) return {};
  ratio.elsewhere = std::max(1e-9, Median(std::span(others)));
  ratio.spread = Median(std::span(distances));
  return ratio;
}

// Over the kernels of one place.
class ChangeOfPlace {
 public:
  void Add(std::string_view kernel, const Places& now, const Places& then, std::string_view place) {
    const auto own = now.find(place);
    if (own == now.end()) return;
    const Ratio mean = RatioOf(now, then, place, &PlaceCalls::mean_ns);
    if (mean.own <= 0) return;
    const double step_ns = own->second.step_ns;
    longer_.push_back({mean.least() - 1, step_ns});
    own_.push_back({mean.own, step_ns});
    against_others_.push_back({mean.own / mean.elsewhere, step_ns});
    elsewhere_.push_back({mean.spread, step_ns});
    const Ratio median = RatioOf(now, then, place, &PlaceCalls::median_ns);
    if (median.own > 0) typical_.push_back({median.least() - 1, step_ns});
    const Ratio clock = RatioOf(now, then, place, &PlaceCalls::mu);
    if (clock.own > 0) clock_.push_back({clock.most() - 1, step_ns});
    if (clock.own > 0) clock_elsewhere_.push_back({clock.spread, step_ns});
    step_ns_ += step_ns;
    by_bound_.Add(BoundOf(kernel), mean.least() - 1, step_ns);
  }

  // Changes of the typical kernel, by itself and against other places.
  double own() { return WeightedQuantile(std::span(own_), kHalf); }
  double against_others() { return WeightedQuantile(std::span(against_others_), kHalf); }

  std::optional<DeviceChange> Take() {
    if (longer_.size() < kFewestKernels) return std::nullopt;
    DeviceChange change{.growth = WeightedQuantile(std::span(longer_), kThird),
                        .typical = WeightedQuantile(std::span(typical_), kHalf),
                        .elsewhere = WeightedQuantile(std::span(elsewhere_), kHalf),
                        .clock_noise = WeightedQuantile(std::span(clock_elsewhere_), kHalf),
                        .kernel_ns = step_ns_,
                        .kernels = static_cast<uint32_t>(longer_.size())};
    if (!clock_.empty()) change.clock_growth = WeightedQuantile(std::span(clock_), kHalf);
    change.by_bound = by_bound_;
    return change;
  }

 private:
  std::vector<Weighted> longer_;
  std::vector<Weighted> own_;
  std::vector<Weighted> against_others_;
  std::vector<Weighted> typical_;
  std::vector<Weighted> elsewhere_;
  std::vector<Weighted> clock_;
  std::vector<Weighted> clock_elsewhere_;
  double step_ns_ = 0;
  KernelGrowths by_bound_;
};

// What a place has become against the windows of the past, one after the other.
struct ChangesOfPlace {
  std::vector<DeviceChange> changes;
  std::vector<double> own;
  std::vector<double> against_others;

  void Add(const Kernels& now, const Kernels& then, std::string_view place) {
    ChangeOfPlace of_place;
    for (const auto& [kernel, places] : now) {
      if (const auto before = then.find(kernel); before != then.end())
        of_place.Add(kernel, places, before->second, place);
    }
    const std::optional<DeviceChange> change = of_place.Take();
    if (!change) return;
    changes.push_back(*change);
    own.push_back(of_place.own());
    against_others.push_back(of_place.against_others());
  }
};

// The middle one, of an even number the lesser.
double LowerMedian(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// By how much values in a row differ at random: a change that stays is one difference of many.
double NoiseOf(std::span<const double> values) {
  if (values.size() < 2) return 0;
  std::vector<double> differences;
  for (size_t i = 1; i < values.size(); ++i)
    differences.push_back(std::abs(values[i] - values[i - 1]));
  return kSigmaPerMad * LowerMedian(std::move(differences)) / std::numbers::sqrt2;
}

// Of the typical place. Inputs change all places, so that they tell nothing by themselves; a fault
// that comes and goes changes all that are compared with it.
double NoiseOf(std::span<const ChangesOfPlace> places) {
  std::vector<double> noises;
  for (const ChangesOfPlace& place : places)
    noises.push_back(std::min(NoiseOf(place.own), NoiseOf(place.against_others)));
  return noises.empty() ? 0 : LowerMedian(std::move(noises));
}

// Of many windows an eighth may be fast for no reason, such as lost telemetry of long steps. By
// value: reorders it.
DeviceChange Largest(std::vector<DeviceChange> changes) {
  constexpr size_t kFastForNoReason = 8;
  const auto chosen =
      changes.begin() + static_cast<std::ptrdiff_t>(changes.size() / kFastForNoReason);
  std::ranges::nth_element(changes, chosen, std::ranges::greater(), &DeviceChange::growth);
  return *chosen;
}

}  // namespace

KernelChanges DeviceChange::changes() const {
  const double error = std::max(noise, kGrowthNoise);
  KernelChanges changes = ChangesOf(by_bound, error);
  changes[KernelMeasurement::kTypical] = {.value = typical, .error = error};
  if (clock_growth)
    changes[KernelMeasurement::kClock] =
        ClockChangeBetween(*clock_growth, *clock_growth, std::max(clock_noise, kGrowthNoise));
  return changes;
}

std::vector<std::optional<DeviceChange>> CompareWithPast(const CrossRankView& view,
                                                         std::span<const Place> places,
                                                         std::span<const RankTimes> past) {
  std::vector<ChangesOfPlace> changes(places.size());
  const Kernels now = KernelsOf(view.rank_times().device_calls);
  uint64_t windows = 0;
  for (const RankTimes& window : past) {
    if (window.processes != view.rank_times().processes)
      continue;  // other processes may have run something else
    ++windows;
    const Kernels then = KernelsOf(window.device_calls);
    for (size_t p = 0; p < places.size(); ++p) changes[p].Add(now, then, places[p].key);
  }
  const double noise = NoiseOf(changes);
  std::vector<std::optional<DeviceChange>> largest(places.size());
  for (size_t p = 0; p < places.size(); ++p) {
    if (changes[p].changes.empty()) continue;
    largest[p] = Largest(std::move(changes[p].changes));
    largest[p]->windows = windows;
    largest[p]->noise = noise;
  }
  return largest;
}

}  // namespace eroica

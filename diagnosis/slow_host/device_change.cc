#include "diagnosis/slow_host/device_change.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "diagnosis/robust_statistics.h"
#include "schemas/parameter_kernel.h"

namespace eroica {
namespace {

constexpr uint32_t kFewestKernels = 3;  // of one or two nobody can say that it is the device
constexpr double kHalf = 0.5;
constexpr double kThird = 1.0 / 3;

struct Calls {
  double mean_ns = 0;
  double median_ns = 0;  // 0 where the histogram is not there
  double mu = 0;         // 0 where it is not sampled
  double step_ns = 0;
};

using Places = std::map<std::string_view, Calls>;    // by key
using Kernels = std::map<std::string_view, Places>;  // by name

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

Ratio RatioOf(const Places& now, const Places& then, std::string_view place, double Calls::*value) {
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
    const Ratio mean = RatioOf(now, then, place, &Calls::mean_ns);
    if (mean.own <= 0) return;
    const double step_ns = own->second.step_ns;
    longer_.push_back({mean.least() - 1, step_ns});
    elsewhere_.push_back({mean.spread, step_ns});
    const Ratio median = RatioOf(now, then, place, &Calls::median_ns);
    if (median.own > 0) typical_.push_back({median.least() - 1, step_ns});
    const Ratio clock = RatioOf(now, then, place, &Calls::mu);
    if (clock.own > 0) clock_.push_back({clock.most() - 1, step_ns});
    if (clock.own > 0) clock_elsewhere_.push_back({clock.spread, step_ns});
    step_ns_ += step_ns;
    if (!WorksOnParameters(kernel)) return;
    parameters_ns_ += own->second.mean_ns;
    parameters_then_ns_ += own->second.mean_ns / mean.least();
  }

  std::optional<DeviceChange> Take() {
    if (longer_.size() < kFewestKernels) return std::nullopt;
    DeviceChange change{.growth = WeightedQuantile(std::span(longer_), kThird),
                        .typical = WeightedQuantile(std::span(typical_), kHalf),
                        .elsewhere = WeightedQuantile(std::span(elsewhere_), kHalf),
                        .clock_growth = WeightedQuantile(std::span(clock_), kHalf),
                        .clock_noise = WeightedQuantile(std::span(clock_elsewhere_), kHalf),
                        .kernel_ns = step_ns_,
                        .kernels = static_cast<uint32_t>(longer_.size())};
    if (parameters_then_ns_ > 0) change.parameter_growth = parameters_ns_ / parameters_then_ns_ - 1;
    return change;
  }

 private:
  std::vector<Weighted> longer_;
  std::vector<Weighted> typical_;
  std::vector<Weighted> elsewhere_;
  std::vector<Weighted> clock_;
  std::vector<Weighted> clock_elsewhere_;
  double step_ns_ = 0;
  double parameters_ns_ = 0;
  double parameters_then_ns_ = 0;
};

std::optional<DeviceChange> Compare(const Kernels& now, const Kernels& then, std::string_view place) {
  ChangeOfPlace change;
  for (const auto& [kernel, places] : now) {
    if (const auto before = then.find(kernel); before != then.end()) change.Add(kernel, places, before->second, place);
  }
  return change.Take();
}

}  // namespace

std::vector<std::optional<DeviceChange>> CompareWithPast(const CrossRankView& view, std::span<const Place> places,
                                                         std::span<const PatternBatch> past) {
  std::vector<std::optional<DeviceChange>> changes(places.size());
  const Kernels now = KernelsOf(view.rank_times().patterns);
  uint64_t windows = 0;
  for (const PatternBatch& window : past) {
    if (window.pid != view.rank_times().pid) continue;  // other processes may have run something else
    ++windows;
    const Kernels then = KernelsOf(window.patterns);
    for (size_t p = 0; p < places.size(); ++p) {
      std::optional<DeviceChange> change = Compare(now, then, places[p].key);
      if (change && (!changes[p] || change->growth > changes[p]->growth)) changes[p] = change;
    }
  }
  for (std::optional<DeviceChange>& change : changes) {
    if (change) change->windows = windows;
  }
  return changes;
}

}  // namespace eroica

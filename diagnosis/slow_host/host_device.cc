#include "diagnosis/slow_host/host_device.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/statistics/healthy_spread.h"
#include "diagnosis/statistics/peer_median.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

// One kernel on some ranks: means over these.
struct Calls {
  double call_ns = 0;    // mean duration
  double median_ns = 0;  // 0 where the histogram is not there
  double mu = 0;         // of the clock and use
  double step_ns = 0;    // critical
  uint64_t count = 0;    // of calls
  uint32_t ranks = 0;
  uint32_t sampled = 0;  // ranks with samples of the clock

  void Add(const MeanStep& step, const FunctionPattern& pattern) {
    call_ns += pattern.duration_mean_ns;
    step_ns += PerStep(step, pattern.critical_ns);
    ++ranks;
    count += std::min<uint64_t>(pattern.count, 1u << 30);
    if (!pattern.histogram.empty())
      median_ns += static_cast<double>(pattern.histogram.Quantile(0.5));
    if (pattern.resource != Resource::kGpuSm || pattern.resource_samples == 0) return;
    mu += pattern.mu;
    ++sampled;
  }
  void Average() {
    call_ns /= std::max(1u, ranks);
    median_ns /= std::max(1u, ranks);
    step_ns /= std::max(1u, ranks);
    mu /= std::max(1u, sampled);
  }
};

struct Kernel {
  const FunctionColumn* column = nullptr;
  KernelBound bound = KernelBound::kUnknown;
  std::vector<Calls> on;  // by host
  // by host: medians over the other hosts; no ranks where none of them runs it
  std::vector<Calls> usually;
};

// Of some calls against the usual ones, over all kernels.
struct Growth {
  double longer = 0;
  double typical = 0;
  double clock = 0;
  double step_ns = 0;
  KernelGrowths by_bound;
  uint32_t kernels = 0;
  uint32_t sampled = 0;  // kernels
};

// They hold nearly all of the time, and each costs a look at every rank.
std::vector<const FunctionColumn*> HeaviestKernels(const CrossRankView& view) {
  constexpr size_t kMostKernels = 24;
  std::vector<std::pair<double, const FunctionColumn*>> kernels;
  for (const FunctionColumn& column : view.functions()) {
    if (column.sample->function_class != FunctionClass::kGpuCompute) continue;
    kernels.emplace_back(std::reduce(column.beta.begin(), column.beta.end(), 0.0), &column);
  }
  std::ranges::stable_sort(kernels, std::greater<>(),
                           [](const auto& kernel) { return kernel.first; });
  if (kernels.size() > kMostKernels) kernels.resize(kMostKernels);
  std::vector<const FunctionColumn*> heaviest;
  for (const auto& [share, column] : kernels) heaviest.push_back(column);
  return heaviest;
}

// By rank's position; -1: on none.
std::vector<int> HostOfRanks(const CrossRankView& view, std::span<const HostRanks> hosts) {
  std::vector<int> host_of(view.ranks().size(), -1);
  for (size_t h = 0; h < hosts.size(); ++h) {
    for (const RankIndex rank : hosts[h].ranks) host_of[rank] = static_cast<int>(h);
  }
  return host_of;
}

// The hosts on which two thirds of the kernel time may have grown by so much, at a look at columns
// that takes means for what they are within rounding. Mostly there is none, and nothing else needs
// to be read.
std::vector<size_t> MayTakeLonger(const CrossRankView& view, std::span<const HostRanks> hosts,
                                  double min_growth) {
  constexpr double kRounding = 1e-5;  // of sums of floats
  struct KernelTime {
    double less_ns = 0;  // of kernels that grew by less
    double all_ns = 0;
  };
  struct Sums {
    double call_ns = 0;
    double step_ns = 0;
    uint32_t ranks = 0;
  };
  const std::vector<int> host_of = HostOfRanks(view, hosts);
  std::vector<KernelTime> times(hosts.size());
  for (const FunctionColumn* column : HeaviestKernels(view)) {
    std::vector<Sums> on(hosts.size());
    for (size_t i = 0; i < column->size(); ++i) {
      const RankIndex rank = column->rank[i];
      if (host_of[rank] < 0) continue;
      Sums& sums = on[static_cast<size_t>(host_of[rank])];
      sums.call_ns += static_cast<double>(column->call_ns[i]);
      sums.step_ns += PerStep(view.ranks()[rank].step, column->critical_ns[i]);
      ++sums.ranks;
    }
    std::vector<double> means;
    for (const Sums& sums : on) {
      if (sums.ranks > 0) means.push_back(sums.call_ns / sums.ranks);
    }
    const PeerMedian others(means);
    if (!others.has_peers()) continue;
    for (size_t h = 0; h < hosts.size(); ++h) {
      if (on[h].ranks == 0) continue;
      const double own_ns = on[h].call_ns / on[h].ranks;
      const double usual_ns = others.Without(own_ns);
      if (usual_ns <= 0) continue;
      times[h].all_ns += on[h].step_ns / on[h].ranks;
      if (own_ns < (1 + min_growth - kRounding) * usual_ns)
        times[h].less_ns += on[h].step_ns / on[h].ranks;
    }
  }
  std::vector<size_t> longer;
  for (size_t h = 0; h < hosts.size(); ++h) {
    if (times[h].all_ns > 0 && times[h].less_ns <= (kThird + kRounding) * times[h].all_ns)
      longer.push_back(h);
  }
  return longer;
}

class KernelTable {
 public:
  KernelTable(const CrossRankView& view, std::span<const HostRanks> hosts)
      : view_(view), hosts_(hosts), host_of_(HostOfRanks(view, hosts)) {
    for (const FunctionColumn* column : HeaviestKernels(view)) AddKernel(*column);
  }

  std::optional<HostDevices> Compare(size_t host) const {
    const Growth growth =
        GrowthOf(host, [host](const Kernel& kernel) -> const Calls& { return kernel.on[host]; });
    if (growth.kernels < kFewestKernels) return std::nullopt;
    HostDevices devices{.growth = growth.longer,
                        .typical = growth.typical,
                        .has_clock = growth.sampled >= kFewestKernels,
                        .clock_growth = growth.clock,
                        .kernel_ns = growth.step_ns,
                        .kernels = growth.kernels};
    devices.by_bound = growth.by_bound;
    return devices;
  }

  // Goes over the kernels of every rank.
  void CompareRanks(size_t host, HostDevices& devices) const {
    std::vector<double> longer;
    std::vector<double> clocks;
    double least_wait_ns = std::numeric_limits<double>::infinity();
    for (RankIndex rank = 0; rank < host_of_.size(); ++rank) {
      if (host_of_[rank] < 0) continue;
      const Growth growth =
          GrowthOf(host, [&](const Kernel& kernel) { return OnRank(kernel, rank); });
      if (host_of_[rank] == static_cast<int>(host)) {
        devices.ranks += growth.longer >= kHalf * devices.growth ? 1 : 0;
        devices.slowest_ns =
            std::max(devices.slowest_ns, growth.step_ns * growth.longer / (1 + growth.longer));
        if (view_.ranks()[rank].step.wait_ns >= least_wait_ns) continue;
        least_wait_ns = view_.ranks()[rank].step.wait_ns;
        devices.busiest_clock_growth = growth.clock;
      } else if (growth.kernels >= kFewestKernels) {
        longer.push_back(growth.longer);
        clocks.push_back(growth.clock);
      }
    }
    const auto own = static_cast<double>(hosts_[host].ranks.size());
    const double of_mean = kSigmaPerMad / std::sqrt(own);
    devices.clock_noise = std::max(kGrowthNoise, of_mean * TakeMedianAndMad(std::span(clocks)).mad);
    // One other host is the mean of as few devices as this one.
    const double of_difference =
        std::sqrt(1 / own + 1 / std::max(1.0, static_cast<double>(longer.size())));
    const double seen = kSigmaPerMad * TakeMedianAndMad(std::span(longer)).mad;
    devices.noise = of_difference * ModeratedSpread(seen, longer.size(), kDeviceSpread);
  }

 private:
  void AddKernel(const FunctionColumn& column) {
    Kernel kernel{.column = &column,
                  .bound = BoundOf(column.sample->name),
                  .on = std::vector<Calls>(hosts_.size()),
                  .usually = std::vector<Calls>(hosts_.size())};
    for (size_t i = 0; i < column.size(); ++i) {
      const int host = host_of_[column.rank[i]];
      if (host >= 0)
        kernel.on[static_cast<size_t>(host)].Add(view_.ranks()[column.rank[i]].step,
                                                 *column.pattern[i]);
    }
    for (Calls& calls : kernel.on) calls.Average();
    SetUsual(kernel, &Calls::call_ns, &Calls::ranks);
    SetUsual(kernel, &Calls::median_ns, &Calls::ranks);
    SetUsual(kernel, &Calls::mu, &Calls::sampled);
    kernels_.push_back(std::move(kernel));
  }

  static void SetUsual(Kernel& kernel, double Calls::*value, uint32_t Calls::*count) {
    std::vector<double> values;
    for (const Calls& calls : kernel.on) {
      if (calls.*count > 0) values.push_back(calls.*value);
    }
    const PeerMedian others(values);
    if (!others.has_peers()) return;
    for (size_t h = 0; h < kernel.on.size(); ++h) {
      if (kernel.on[h].*count == 0) continue;
      kernel.usually[h].*value = others.Without(kernel.on[h].*value);
      kernel.usually[h].*count = 1;
    }
  }

  Calls OnRank(const Kernel& kernel, RankIndex rank) const {
    Calls calls;
    const auto at = std::ranges::lower_bound(kernel.column->rank, rank);
    if (at == kernel.column->rank.end() || *at != rank) return calls;
    calls.Add(view_.ranks()[rank].step,
              *kernel.column->pattern[static_cast<size_t>(at - kernel.column->rank.begin())]);
    return calls;
  }

  // Against what is usual on the hosts other than `host`.
  template <typename CallsOf>
  Growth GrowthOf(size_t host, CallsOf calls_of) const {
    Growth growth;
    std::vector<Weighted> longer;
    std::vector<Weighted> typical;
    std::vector<Weighted> clock;
    for (const Kernel& kernel : kernels_) {
      const Calls& usual = kernel.usually[host];
      const Calls& own = calls_of(kernel);
      if (usual.call_ns <= 0 || own.ranks == 0) continue;
      longer.push_back({own.call_ns / usual.call_ns - 1, own.step_ns});
      if (usual.median_ns > 0)
        typical.push_back({own.median_ns / usual.median_ns - 1, own.step_ns});
      if (usual.mu > 0 && own.sampled > 0) clock.push_back({own.mu / usual.mu - 1, own.step_ns});
      growth.step_ns += own.step_ns;
      growth.by_bound.Add(kernel.bound, longer.back().value, own.step_ns);
    }
    growth.kernels = static_cast<uint32_t>(longer.size());
    growth.sampled = static_cast<uint32_t>(clock.size());
    growth.longer = WeightedQuantile(std::span(longer), kThird);
    growth.typical = WeightedQuantile(std::span(typical), kHalf);
    growth.clock = WeightedQuantile(std::span(clock), kHalf);
    return growth;
  }

  const CrossRankView& view_;
  std::span<const HostRanks> hosts_;
  std::vector<int> host_of_;  // by rank's position; -1: on none
  std::vector<Kernel> kernels_;
};

}  // namespace

KernelChanges HostDevices::changes(size_t ranks_of_host) const {
  const double error =
      std::max(noise, kDeviceSpread / std::sqrt(static_cast<double>(ranks_of_host)));
  KernelChanges changes = ChangesOf(by_bound, error);
  changes[KernelMeasurement::kTypical] = {.value = typical, .error = error};
  if (!has_clock) return changes;
  // Ranks that wait for one of them every few kernels are seen less busy by it, all but that one.
  changes[KernelMeasurement::kClock] =
      ClockChangeBetween(std::min(clock_growth, busiest_clock_growth),
                         std::max(clock_growth, busiest_clock_growth), clock_noise);
  return changes;
}

std::vector<std::optional<HostDevices>> CompareHostDevices(const CrossRankView& view,
                                                           std::span<const HostRanks> hosts,
                                                           double min_growth) {
  std::vector<std::optional<HostDevices>> compared(hosts.size());
  const std::vector<size_t> longer = MayTakeLonger(view, hosts, min_growth);
  if (longer.empty()) return compared;
  const KernelTable table(view, hosts);
  for (const size_t h : longer) {
    compared[h] = table.Compare(h);
    if (compared[h] && compared[h]->growth < min_growth) compared[h].reset();
    if (compared[h]) table.CompareRanks(h, *compared[h]);
  }
  return compared;
}

}  // namespace eroica

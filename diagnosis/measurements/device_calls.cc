#include "diagnosis/measurements/device_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "diagnosis/measurements/mean_step.h"

namespace eroica {
namespace {

std::vector<HostRanks> HostsThatHoldARole(const CrossRankView& view) {
  std::vector<size_t> members(view.role_count());
  for (const RankView& rank : view.ranks()) ++members[rank.role];
  std::vector<HostRanks> hosts;
  for (const HostRanks& host : view.hosts()) {
    const auto may_be_here = [&](RankIndex rank) {
      return members[view.ranks()[rank].role] <= host.ranks.size();
    };
    if (std::ranges::none_of(host.ranks, may_be_here)) continue;
    std::map<uint32_t, size_t> here;
    for (const RankIndex rank : host.ranks) ++here[view.ranks()[rank].role];
    if (std::ranges::any_of(here, [&](const auto& role) {
          return role.second > 1 && role.second == members[role.first];
        }))
      hosts.push_back(host);
  }
  return hosts;
}

// One kernel on one place.
class CallsOfPlace {
 public:
  void Add(const PatternBatch& batch, const FunctionPattern& pattern) {
    total_ns_ += pattern.duration_mean_ns * static_cast<double>(pattern.count);
    row_.count += pattern.count;
    row_.histogram.Merge(pattern.histogram);
    step_ns_ += PerStep(batch, pattern.critical_ns);
    ++ranks_;
    if (pattern.resource != Resource::kGpuSm || pattern.resource_samples == 0) return;
    row_.resource = pattern.resource;
    row_.resource_samples += pattern.resource_samples;
    row_.mu += pattern.mu;
    ++sampled_;
  }

  FunctionPattern Row(const FunctionPattern& kernel, const std::string& place) && {
    row_.function =
        HashFunction(FunctionClass::kGpuCompute, place + "/" + kernel.name, FunctionId{0});
    row_.name = kernel.name;
    row_.stack = place;
    row_.function_class = FunctionClass::kGpuCompute;
    row_.duration_mean_ns = total_ns_ / static_cast<double>(std::max<uint64_t>(1, row_.count));
    row_.critical_ns = static_cast<int64_t>(step_ns_ / ranks_);
    row_.mu /= std::max(1u, sampled_);
    return std::move(row_);
  }

 private:
  FunctionPattern row_;
  double total_ns_ = 0;
  double step_ns_ = 0;
  uint32_t ranks_ = 0;
  uint32_t sampled_ = 0;
};

// They hold nearly all of the time. One name is one kernel, whoever launches it.
std::vector<std::string_view> HeaviestKernels(const CrossRankView& view) {
  constexpr size_t kMostKernels = 24;
  std::map<std::string_view, double> shares;
  for (const FunctionColumn& column : view.functions()) {
    if (column.sample->function_class != FunctionClass::kGpuCompute) continue;
    shares[column.sample->name] += std::reduce(column.beta.begin(), column.beta.end(), 0.0);
  }
  std::vector<std::pair<double, std::string_view>> kernels;
  for (const auto& [name, share] : shares) kernels.emplace_back(share, name);
  std::ranges::stable_sort(kernels, std::greater<>(),
                           [](const auto& kernel) { return kernel.first; });
  if (kernels.size() > kMostKernels) kernels.resize(kMostKernels);
  std::vector<std::string_view> heaviest;
  for (const auto& [share, name] : kernels) heaviest.push_back(name);
  std::ranges::sort(heaviest);
  return heaviest;
}

}  // namespace

std::vector<Place> PlacesWithoutPeers(const CrossRankView& view) {
  std::vector<Place> places;
  for (HostRanks& rank : LoneRanksOf(view)) {
    const uint32_t number = view.ranks()[rank.ranks.front()].rank.value;
    places.push_back({fmt::format("rank {} on {}", number, rank.name), std::move(rank)});
  }
  for (HostRanks& host : HostsThatHoldARole(view))
    places.push_back({std::string(host.name), std::move(host)});
  if (places.size() < 2 || places.size() > kMostPlaces) places.clear();
  return places;
}

std::vector<FunctionPattern> DeviceCallsOf(const CrossRankView& view) {
  const std::vector<Place> places = PlacesWithoutPeers(view);
  std::vector<FunctionPattern> rows;
  if (places.empty()) return rows;
  const std::vector<std::string_view> kernels = HeaviestKernels(view);
  for (const Place& place : places) {
    std::map<std::string_view, std::pair<CallsOfPlace, const FunctionPattern*>> by_kernel;
    for (const RankIndex rank : place.ranks.ranks) {
      const PatternBatch& batch = *view.ranks()[rank].batch;
      for (const FunctionPattern& pattern : batch.patterns) {
        if (pattern.function_class != FunctionClass::kGpuCompute ||
            !std::ranges::binary_search(kernels, pattern.name))
          continue;
        auto& [calls, kernel] = by_kernel[pattern.name];
        calls.Add(batch, pattern);
        kernel = &pattern;
      }
    }
    for (auto& [name, calls] : by_kernel)
      rows.push_back(std::move(calls.first).Row(*calls.second, place.key));
  }
  std::ranges::sort(rows, {}, &FunctionPattern::function);
  return rows;
}

}  // namespace eroica

#include "tests/evaluation/simulate/fault_strikes.h"

#include <algorithm>

#include "schemas/check.h"
#include "tests/evaluation/simulate/fault_library.h"
#include "tests/evaluation/simulate/noise.h"

namespace eroica::simulate {
namespace {

constexpr double kLargestFactor = 50'000;
// A group whose hot experts get all tokens leaves the others at least so much.
constexpr double kLeastTokens = 0.05;

// Two ranks are struck together where this is the same: a host, a rack, a stage, a data replica, an
// expert.
uint64_t PlaceOf(FaultReach reach, const SimulatedJob& job, uint32_t rank) {
  const ParallelLayout& layout = job.layout;
  switch (reach) {
    case FaultReach::kHosts: return layout.HostOf(rank);
    case FaultReach::kRacks: return layout.HostOf(rank) / job.fabric.hosts_per_rack;
    case FaultReach::kStages: return CoordinatesOf(layout, rank).pipeline;
    case FaultReach::kDataReplicas: return CoordinatesOf(layout, rank).data;
    case FaultReach::kExperts: {
      Coordinates at = CoordinatesOf(layout, rank);
      at.tensor = 0;  // tensor ranks share an expert
      return RankAt(layout, at);
    }
    case FaultReach::kRanks:
    case FaultReach::kPath: return rank;
    case FaultReach::kEveryone: return 0;
  }
  return rank;
}

std::vector<uint64_t> PlacesOf(FaultReach reach, const Fault& fault, const SimulatedJob& job) {
  std::vector<uint64_t> places;
  for (const uint32_t rank : fault.ranks) places.push_back(PlaceOf(reach, job, rank));
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<Strike> RanksReached(FaultReach reach, const Fault& fault, const SimulatedJob& job) {
  const std::vector<uint64_t> places = PlacesOf(reach, fault, job);
  const bool drawn =
      places.empty() && (reach == FaultReach::kDataReplicas || reach == FaultReach::kExperts);
  std::vector<Strike> strikes;
  for (uint32_t rank = 0; rank < job.layout.world_size(); ++rank) {
    if (drawn || reach == FaultReach::kEveryone ||
        std::binary_search(places.begin(), places.end(), PlaceOf(reach, job, rank))) {
      strikes.push_back({.rank = rank});
    }
  }
  return strikes;
}

// The ranks, which reach a neighbor's NIC over the host's bus, and the neighbors where these still
// have theirs.
std::vector<Strike> NicDown(const Fault& fault, const SimulatedJob& job) {
  std::vector<Strike> strikes = RanksReached(FaultReach::kRanks, fault, job);
  for (Strike& strike : strikes) strike.amount = ToFactor(fault.shape.own_nic_share);
  const size_t down = strikes.size();
  for (size_t i = 0; i < down; ++i) {
    const uint32_t device = job.layout.DeviceOf(strikes[i].rank) ^ 1;
    const uint32_t neighbor =
        job.layout.HostOf(strikes[i].rank) * job.layout.ranks_per_host + device;
    const bool exists = device < job.layout.ranks_per_host && neighbor < job.layout.world_size();
    const bool known = std::any_of(strikes.begin(), strikes.end(),
                                   [&](const Strike& strike) { return strike.rank == neighbor; });
    if (!exists || known) continue;
    strikes.push_back({.rank = neighbor, .amount = ToFactor(fault.shape.neighbor_nic_share)});
  }
  std::sort(strikes.begin(), strikes.end(),
            [](const Strike& a, const Strike& b) { return a.rank < b.rank; });
  return strikes;
}

std::vector<Strike> Sequences(const Fault& fault, const SimulatedJob& job, uint64_t key) {
  std::vector<Strike> strikes = RanksReached(FaultReach::kDataReplicas, fault, job);
  const LogNormalTable lengths(fault.severity);
  for (Strike& strike : strikes) {
    const bool drawn = fault.ranks.empty();
    strike.amount = drawn
                        ? lengths.Of(NoiseKey(key, CoordinatesOf(job.layout, strike.rank).data, 0))
                        : Longer(fault.severity);
  }
  return strikes;
}

// Tokens go to one expert or to another: over a group the shares have the mean 1.
void ShareTokens(const Fault& fault, const SimulatedJob& job, std::vector<Strike>& group,
                 uint64_t key, const LogNormalTable& table) {
  const auto members = static_cast<double>(group.size());
  if (fault.ranks.empty()) {
    double sum = 0;
    for (const Strike& strike : group)
      sum += table.Of(NoiseKey(key, PlaceOf(FaultReach::kExperts, job, strike.rank), 0));
    for (Strike& strike : group) {
      strike.amount =
          ToFactor(table.Of(NoiseKey(key, PlaceOf(FaultReach::kExperts, job, strike.rank), 0)) *
                   members / sum);
    }
    return;
  }
  const std::vector<uint64_t> hot_places = PlacesOf(FaultReach::kExperts, fault, job);
  const auto is_hot = [&](const Strike& strike) {
    return std::binary_search(hot_places.begin(), hot_places.end(),
                              PlaceOf(FaultReach::kExperts, job, strike.rank));
  };
  const auto hot = static_cast<double>(std::count_if(group.begin(), group.end(), is_hot));
  if (hot == 0 || hot == members) return group.clear();  // nobody stands out
  const double left =
      std::max(kLeastTokens, (members - hot * (1 + fault.severity)) / (members - hot));
  for (Strike& strike : group)
    strike.amount = is_hot(strike) ? Longer(fault.severity) : ToFactor(left);
}

std::vector<Strike> Experts(const Fault& fault, const SimulatedJob& job, uint64_t key) {
  const ParallelLayout& layout = job.layout;
  const LogNormalTable table(fault.severity);
  std::vector<Strike> strikes;
  std::vector<Strike> group;
  for (uint32_t first = 0; first < layout.world_size(); ++first) {
    Coordinates at = CoordinatesOf(layout, first);
    if (layout.expert == 1 || at.data % layout.expert != 0) continue;
    group.clear();
    for (uint32_t expert = 0; expert < layout.expert; ++expert, ++at.data)
      group.push_back({.rank = RankAt(layout, at)});
    ShareTokens(fault, job, group, key, table);
    strikes.insert(strikes.end(), group.begin(), group.end());
  }
  std::sort(strikes.begin(), strikes.end(),
            [](const Strike& a, const Strike& b) { return a.rank < b.rank; });
  return strikes;
}

// Those of a stage are equally hard struck.
std::vector<Strike> SlowThreads(std::vector<Strike> strikes, const Fault& fault,
                                const SimulatedJob& job, const HealthyStep& healthy) {
  std::vector<Factor> by_stage(job.layout.pipeline, 0);
  for (Strike& strike : strikes) {
    const uint32_t stage = CoordinatesOf(job.layout, strike.rank).pipeline;
    if (by_stage[stage] == 0)
      by_stage[stage] = ToFactor(healthy.ThreadFactor(stage, fault.severity));
    strike.amount = by_stage[stage];
  }
  return strikes;
}

}  // namespace

Factor SpeedLeft(double share_lost) { return ToFactor(std::clamp(1 - share_lost, 0.01, 1.0)); }
Factor Longer(double longer) { return ToFactor(std::min(1 + longer, kLargestFactor)); }

std::vector<Strike> StrikesOf(const Fault& fault, const SimulatedJob& job,
                              const HealthyStep& healthy, uint64_t key) {
  const FaultReach reach = Describe(fault.kind).reach;
  switch (fault.kind) {
    case FaultKind::kLinkSlow:
    case FaultKind::kCongestedPath: return {};
    case FaultKind::kNicDown: return NicDown(fault, job);
    case FaultKind::kSequenceImbalance: return Sequences(fault, job, key);
    case FaultKind::kExpertImbalance: return Experts(fault, job, key);
    case FaultKind::kGilContention:
    case FaultKind::kCpuStolen:
      return SlowThreads(RanksReached(reach, fault, job), fault, job, healthy);
    default: break;
  }
  std::vector<Strike> strikes = RanksReached(reach, fault, job);
  for (Strike& strike : strikes) strike.amount = Longer(fault.severity);
  return strikes;
}

void AddPaths(const Fault& fault, const SimulatedJob& job, std::vector<PathEffect>& paths) {
  const Factor speed = SpeedLeft(fault.severity);
  const auto both_ways = [&](uint32_t one, uint32_t other) {
    paths.push_back({.source_host = one, .destination_host = other, .speed = speed});
    paths.push_back({.source_host = other, .destination_host = one, .speed = speed});
  };
  if (fault.kind == FaultKind::kLinkSlow) {
    EROICA_CHECK(fault.peer_rank >= 0);
    std::vector<uint64_t> hosts = PlacesOf(FaultReach::kHosts, fault, job);
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    for (const uint64_t host : hosts)
      both_ways(static_cast<uint32_t>(host),
                job.layout.HostOf(static_cast<uint32_t>(fault.peer_rank)));
    return;
  }
  if (fault.kind != FaultKind::kCongestedPath) return;
  const std::vector<uint64_t> racks = PlacesOf(FaultReach::kRacks, fault, job);
  const auto congested = [&](uint32_t host) {
    return std::binary_search(racks.begin(), racks.end(), host / job.fabric.hosts_per_rack);
  };
  for (uint32_t one = 0; one < job.layout.hosts(); ++one) {
    if (!congested(one)) continue;
    for (uint32_t other = 0; other < job.layout.hosts(); ++other) {
      const bool same_rack = one / job.fabric.hosts_per_rack == other / job.fabric.hosts_per_rack;
      if (!same_rack && (!congested(other) || one < other)) both_ways(one, other);
    }
  }
}

}  // namespace eroica::simulate

#include "diagnosis/measurements/host_ranks.h"

#include <algorithm>
#include <unordered_map>

#include "diagnosis/statistics/prefetch.h"

namespace eroica {

std::vector<HostRanks> HostsOf(std::span<const RankView> ranks) {
  std::unordered_map<std::string_view, size_t> position;
  std::vector<HostRanks> hosts;
  size_t at = 0;
  constexpr size_t kAhead = 8;  // ranks whose names are asked for while one is read
  for (RankIndex i = 0; i < ranks.size(); ++i) {
    if (i + kAhead < ranks.size()) {
      Prefetch(&ranks[i + kAhead].batch->host);
      Prefetch(&ranks[i + kAhead].batch->host + 1);  // a string may lie in two cache lines
    }
    const RankView& rank = ranks[i];
    const std::string_view name = rank.batch->host;
    if (!rank.has_steps() || name.empty()) continue;
    if (hosts.empty() || hosts[at].name != name) {  // mostly the ranks of a host follow one another
      const auto [known, inserted] = position.try_emplace(name, hosts.size());
      if (inserted) hosts.push_back({.name = name, .ranks = {}});
      at = known->second;
    }
    hosts[at].ranks.push_back(i);
    hosts[at].step_ns += rank.step.duration_ns;
  }
  for (HostRanks& host : hosts) host.step_ns /= static_cast<double>(host.ranks.size());
  std::ranges::sort(hosts, {}, &HostRanks::name);
  return hosts;
}

std::vector<HostRanks> LoneRanksOf(const CrossRankView& view) {
  std::vector<size_t> members(view.role_count());
  for (const RankView& rank : view.ranks()) ++members[rank.role];
  std::vector<HostRanks> lone;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (members[rank.role] > 1 || !rank.has_steps()) continue;
    lone.push_back({.name = rank.batch->host, .ranks = {i}, .step_ns = rank.step.duration_ns});
  }
  return lone;
}

bool CanCompareHosts(const std::vector<HostRanks>& hosts) {
  return hosts.size() >= 2 &&
         std::ranges::all_of(hosts, [](const HostRanks& host) { return host.ranks.size() >= 2; });
}

}  // namespace eroica

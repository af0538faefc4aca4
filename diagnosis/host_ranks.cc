#include "diagnosis/host_ranks.h"

#include <algorithm>
#include <map>

#include "diagnosis/mean_step.h"

namespace eroica {

std::vector<HostRanks> HostsOf(const CrossRankView& view) {
  std::map<std::string_view, HostRanks> by_name;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const PatternBatch& batch = *view.ranks()[i].batch;
    if (batch.silent || batch.steps.empty() || batch.host.empty()) continue;
    HostRanks& host = by_name[batch.host];
    host.name = batch.host;
    host.ranks.push_back(i);
    host.step_ns += MeanStepOf(batch).duration_ns;
  }
  std::vector<HostRanks> hosts;
  for (auto& [name, host] : by_name) {
    host.step_ns /= static_cast<double>(host.ranks.size());
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<HostRanks> LoneRanksOf(const CrossRankView& view) {
  std::vector<size_t> members(view.role_count());
  for (const RankView& rank : view.ranks()) ++members[rank.role];
  std::vector<HostRanks> lone;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (members[rank.role] > 1 || rank.batch->silent || rank.batch->steps.empty()) continue;
    lone.push_back({.name = rank.batch->host, .ranks = {i}, .step_ns = MeanStepOf(*rank.batch).duration_ns});
  }
  return lone;
}

bool CanCompareHosts(const std::vector<HostRanks>& hosts) {
  return hosts.size() >= 2 && std::ranges::all_of(hosts, [](const HostRanks& host) { return host.ranks.size() >= 2; });
}

}  // namespace eroica

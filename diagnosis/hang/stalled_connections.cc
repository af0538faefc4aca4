#include "diagnosis/hang/stalled_connections.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace eroica {
namespace {

std::vector<StalledConnection> Collect(const WaitGraph& graph, const std::set<RankId>& members) {
  std::map<std::tuple<RankId, RankId, Resource>, int64_t> stalled;
  for (const RankId rank : members) {
    const RankStanding* standing = graph.StandingOf(rank);
    if (standing == nullptr) continue;
    // bytes and busy time
    std::map<std::pair<uint32_t, Resource>, std::pair<uint64_t, int64_t>> sums;
    for (const ConnectionSample& sample : standing->connections) {
      auto& [bytes, busy_ns] = sums[{sample.peer, sample.resource}];
      bytes |= sample.bytes;
      busy_ns = std::max(busy_ns, sample.busy_ns);
    }
    for (const auto& [connection, sum] : sums) {
      const auto [bytes, busy_ns] = sum;
      const RankId peer{connection.first};
      if (bytes == 0 && busy_ns > 0 && peer != rank && members.contains(peer))
        stalled[{rank, peer, connection.second}] = busy_ns;
    }
  }
  std::vector<StalledConnection> connections;
  for (const auto& [key, busy_ns] : stalled)
    connections.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), busy_ns});
  return connections;
}

// Ranks at which all connections end.
std::vector<RankId> CommonRanks(const std::vector<StalledConnection>& connections) {
  std::vector<RankId> common;
  for (const RankId end : {connections.front().source, connections.front().destination}) {
    const bool all = std::all_of(connections.begin(), connections.end(),
                                 [end](const StalledConnection& connection) {
                                   return connection.source == end || connection.destination == end;
                                 });
    if (all) common.push_back(end);
  }
  return common;
}

std::string HostOf(const WaitGraph& graph, RankId rank) {
  const RankStanding* standing = graph.StandingOf(rank);
  return standing == nullptr ? "" : standing->host;
}

// The one host at which all connections end, that lead to other hosts; its ranks that have such.
std::vector<RankId> CommonHost(const WaitGraph& graph,
                               const std::vector<StalledConnection>& connections) {
  std::set<std::string> common = {HostOf(graph, connections.front().source),
                                  HostOf(graph, connections.front().destination)};
  for (const StalledConnection& connection : connections) {
    const std::set<std::string> ends = {HostOf(graph, connection.source),
                                        HostOf(graph, connection.destination)};
    if (ends.size() < 2) return {};
    std::erase_if(common, [&ends](const std::string& host) { return !ends.contains(host); });
  }
  if (common.size() != 1 || common.begin()->empty()) return {};
  std::set<RankId> ranks;
  for (const StalledConnection& connection : connections) {
    ranks.insert(HostOf(graph, connection.source) == *common.begin() ? connection.source
                                                                     : connection.destination);
  }
  return {ranks.begin(), ranks.end()};
}

}  // namespace

Stall FindStall(const WaitGraph& graph, const std::vector<uint32_t>& operations) {
  std::set<RankId> members;
  for (const uint32_t number : operations) {
    const HungOperation& operation = graph.operations()[number];
    members.insert(operation.waiting.begin(), operation.waiting.end());
    members.insert(operation.through.begin(), operation.through.end());
  }
  Stall stall{.connections = Collect(graph, members)};
  if (stall.connections.empty()) return stall;
  stall.culprits = CommonRanks(stall.connections);
  if (stall.culprits.size() == 1) {
    stall.place = StallPlace::kRank;
  } else if (stall.culprits.size() == 2) {
    stall.place = StallPlace::kLink;
  } else {
    stall.culprits = CommonHost(graph, stall.connections);
    stall.place = stall.culprits.empty() ? StallPlace::kScattered : StallPlace::kHost;
  }
  return stall;
}

}  // namespace eroica

#include "tests/evaluation/baselines/slow_connections.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace eroica {
namespace {

constexpr size_t kNoCommunicator = std::numeric_limits<size_t>::max();

// The communicators of each rank, as places in the view's summaries; those of pairs too.
std::map<uint32_t, std::set<size_t>> CommunicatorsOfRanks(const CrossRankView& view) {
  std::map<uint32_t, std::set<size_t>> communicators;
  for (size_t i = 0; i < view.summaries().size(); ++i) {
    for (const MemberSummary& member : view.summaries()[i].members)
      communicators[member.rank.value].insert(i);
    for (const PairSummary& pair : view.summaries()[i].pairs) {
      communicators[pair.source.value].insert(i);
      communicators[pair.destination.value].insert(i);
    }
  }
  return communicators;
}

size_t SmallestOfBoth(const CrossRankView& view, const std::set<size_t>& one,
                      const std::set<size_t>& other) {
  size_t smallest = kNoCommunicator;
  for (const size_t i : one) {
    if (!other.contains(i)) continue;
    const auto size = [&view](size_t at) {
      return view.summaries()[at].members.size() + view.summaries()[at].pairs.size();
    };
    if (smallest == kNoCommunicator || size(i) < size(smallest)) smallest = i;
  }
  return smallest;
}

struct Throughput {
  SlowConnection connection;
  double bytes_per_ns = 0;
};

}  // namespace

bool HasConnections(const CrossRankView& view) {
  return std::any_of(view.ranks().begin(), view.ranks().end(),
                     [](const RankView& rank) { return !rank.batch->connections.empty(); });
}

std::set<SlowConnection> FindSlowConnections(const CrossRankView& view) {
  std::map<uint32_t, std::set<size_t>> communicators = CommunicatorsOfRanks(view);
  std::map<std::pair<size_t, Resource>, std::vector<Throughput>> groups;
  for (const RankView& rank : view.ranks()) {
    for (const ConnectionPattern& connection : rank.batch->connections) {
      if (connection.bytes == 0 || connection.busy_ns <= 0) continue;
      const size_t communicator =
          SmallestOfBoth(view, communicators[rank.rank.value], communicators[connection.peer]);
      groups[{communicator, connection.resource}].push_back(
          {{rank.rank.value, connection.peer},
           static_cast<double>(connection.bytes) / static_cast<double>(connection.busy_ns)});
    }
  }
  std::set<SlowConnection> slow;
  for (const auto& [key, throughputs] : groups) {
    double mean = 0;
    for (const Throughput& one : throughputs)
      mean += one.bytes_per_ns / static_cast<double>(throughputs.size());
    for (const Throughput& one : throughputs) {
      if (one.bytes_per_ns * kAegisSlowFactor < mean) slow.insert(one.connection);
    }
  }
  return slow;
}

MatrixReading ReadMatrix(const std::set<SlowConnection>& slow) {
  const SlowConnection& first = *slow.begin();
  const auto all = [&slow](auto test) { return std::all_of(slow.begin(), slow.end(), test); };
  const bool one_source = all([&](const SlowConnection& c) { return c.source == first.source; });
  const bool one_destination = first.destination >= 0 && all([&](const SlowConnection& c) {
                                 return c.destination == first.destination;
                               });
  if (one_source && one_destination) return {MatrixShape::kLink, first.source, first.destination};
  if (one_source) return {MatrixShape::kSender, first.source};
  if (one_destination) return {MatrixShape::kReceiver, first.destination};
  for (const int64_t rank : {first.source, first.destination}) {
    if (rank >= 0 &&
        all([rank](const SlowConnection& c) { return c.source == rank || c.destination == rank; }))
      return {MatrixShape::kRank, rank};
  }
  return {};
}

}  // namespace eroica

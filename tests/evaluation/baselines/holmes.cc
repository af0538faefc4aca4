#include "tests/evaluation/baselines/holmes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "diagnosis/report/duration_text.h"
#include "tests/evaluation/baselines/claim.h"
#include "tests/evaluation/baselines/operator_graph.h"

namespace eroica {
namespace {

constexpr double kHolmesDelta = 1.04;
constexpr size_t kReported = 2;

// Where a search ended: a rank, or the communication of a group.
struct Source {
  const CollectiveSummary* communication = nullptr;
  RankId rank;
  auto Key() const {
    return std::pair(communication == nullptr ? CommId{0} : communication->communicator, rank);
  }
  bool operator<(const Source& other) const { return Key() < other.Key(); }
};

// From a rank that came last back to the first cause.
Source Follow(const OperatorGraph& graph, RankId start) {
  std::set<RankId> visited;
  RankId rank = start;
  while (true) {
    visited.insert(rank);
    const ProlongedOperator most = graph.MostProlonged(rank);
    RankId next = rank;
    if (most.receive != nullptr) {
      next = most.receive->pair->source;
    } else if (most.collective != nullptr) {
      if (most.collective->abnormal == most.collective->members())
        return {.communication = most.collective->summary, .rank = RankId{0}};
      next = most.collective->NormalAmongAbnormal().value_or(rank);
    }
    if (visited.contains(next)) return {.communication = nullptr, .rank = rank};
    rank = next;
  }
}

std::map<Source, double> ProlongedBySource(const OperatorGraph& graph) {
  std::map<Source, double> prolonged_ns;
  for (const CollectiveNode& node : graph.collectives()) {
    double sum = 0;
    for (const double prolonged : node.prolonged_ns) sum += prolonged;
    if (node.abnormal == node.members()) {
      prolonged_ns[{.communication = node.summary, .rank = RankId{0}}] += sum;
    } else if (const auto normal = node.NormalAmongAbnormal(); normal.has_value()) {
      prolonged_ns[Follow(graph, *normal)] += sum;
    }
  }
  for (const ReceiveNode& node : graph.receives())
    prolonged_ns[Follow(graph, node.pair->source)] += node.prolonged_ns;
  return prolonged_ns;
}

Claim ClaimOf(const Source& source, double prolonged_ns, double all_ns) {
  Claim claim;
  claim.evidence = {
      {"prolonged_time_per_iteration", "ns", prolonged_ns, all_ns - prolonged_ns, 0, 1}};
  const std::string share = PercentText(prolonged_ns / all_ns);
  if (source.communication != nullptr) {
    claim.kind = FindingKind::kCommunication;
    claim.title = fmt::format(
        "{} of all prolonged time of communication leads to communicator {:016x} itself: all its "
        "members are slow.",
        share, source.communication->communicator.value);
    return claim;
  }
  claim.ranks = {source.rank};
  claim.title = fmt::format("{} of all prolonged time of communication leads to {}.", share,
                            RankList(claim.ranks));
  return claim;
}

}  // namespace

void HolmesBaseline::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  const OperatorGraph graph(view, kHolmesDelta);
  const std::map<Source, double> prolonged_ns = ProlongedBySource(graph);
  std::vector<std::pair<Source, double>> ranked(prolonged_ns.begin(), prolonged_ns.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  double all = 0;
  for (const auto& [source, prolonged] : ranked) all += prolonged;
  for (size_t i = 0; i < std::min(kReported, ranked.size()); ++i) {
    findings.push_back(ToFinding(view, *this, ClaimOf(ranked[i].first, ranked[i].second, all)));
  }
}

}  // namespace eroica

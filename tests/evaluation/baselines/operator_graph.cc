#include "tests/evaluation/baselines/operator_graph.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace eroica {
namespace {

// The mean duration of an operation of the member.
double MeanOwn(const CollectiveSummary& summary, const MemberSummary& member) {
  return (static_cast<double>(member.wait_ns) + static_cast<double>(summary.transfer_ns)) /
         static_cast<double>(summary.operations);
}

// Communicators of equal keys do the same.
std::pair<size_t, int> LikesOf(const CollectiveSummary& summary) {
  return {summary.members.size(),
          static_cast<int>(std::bit_width(summary.bytes / summary.operations))};
}

bool HasCollectives(const CollectiveSummary& summary) {
  return summary.operations > 0 && summary.members.size() >= 2;
}

}  // namespace

std::optional<RankId> CollectiveNode::NormalAmongAbnormal() const {
  if (abnormal == 0 || abnormal + 1 != members()) return std::nullopt;
  const auto normal = std::find(prolonged_ns.begin(), prolonged_ns.end(), 0.0);
  return summary->members[static_cast<size_t>(normal - prolonged_ns.begin())].rank;
}

OperatorGraph::OperatorGraph(const CrossRankView& view, double delta) {
  double duration = 0;
  double count = 0;
  size_t steps = 1;
  for (const RankView& rank : view.ranks()) {
    for (const StepRecord& step : rank.batch->steps)
      duration += static_cast<double>(step.duration_ns);
    count += static_cast<double>(rank.batch->steps.size());
    steps = std::max(steps, rank.batch->steps.size());
  }
  steps_ = static_cast<double>(steps);
  // Without iterations nothing prolongs one.
  min_prolonged_ns_ =
      count > 0 ? (delta - 1) * duration / count : std::numeric_limits<double>::infinity();
  AddCollectives(view);
  AddReceives(view);
  Index();
}

void OperatorGraph::AddCollectives(const CrossRankView& view) {
  std::map<std::pair<size_t, int>, double> normal_ns;
  for (const CollectiveSummary& summary : view.summaries()) {
    if (!HasCollectives(summary)) continue;
    double& normal =
        normal_ns.try_emplace(LikesOf(summary), std::numeric_limits<double>::max()).first->second;
    for (const MemberSummary& member : summary.members)
      normal = std::min(normal, MeanOwn(summary, member));
  }
  for (const CollectiveSummary& summary : view.summaries()) {
    if (!HasCollectives(summary)) continue;
    CollectiveNode node{.summary = &summary};
    const double normal = normal_ns.at(LikesOf(summary));
    for (const MemberSummary& member : summary.members) {
      const double prolonged =
          (MeanOwn(summary, member) - normal) * static_cast<double>(summary.operations) / steps_;
      node.prolonged_ns.push_back(prolonged > min_prolonged_ns_ ? prolonged : 0);
      node.abnormal += prolonged > min_prolonged_ns_ ? 1 : 0;
    }
    collectives_.push_back(std::move(node));
  }
}

void OperatorGraph::AddReceives(const CrossRankView& view) {
  const auto role = [&](RankId rank) {
    const RankView* known = view.FindRank(rank);
    return known == nullptr ? std::numeric_limits<uint32_t>::max() : known->role;
  };
  const auto own = [](const PairSummary& pair) {
    return static_cast<double>(pair.receive_wait_ns) / static_cast<double>(pair.count);
  };
  std::map<std::pair<uint32_t, uint32_t>, double> normal_ns;
  for (const CollectiveSummary& summary : view.summaries()) {
    for (const PairSummary& pair : summary.pairs) {
      if (pair.count == 0) continue;
      double& normal = normal_ns.try_emplace({role(pair.source), role(pair.destination)}, own(pair))
                           .first->second;
      normal = std::min(normal, own(pair));
    }
  }
  for (const CollectiveSummary& summary : view.summaries()) {
    for (const PairSummary& pair : summary.pairs) {
      if (pair.count == 0) continue;
      const double normal = normal_ns.at({role(pair.source), role(pair.destination)});
      const double prolonged = (own(pair) - normal) * static_cast<double>(pair.count) / steps_;
      if (prolonged > min_prolonged_ns_) receives_.push_back({&pair, prolonged});
    }
  }
}

void OperatorGraph::Index() {
  for (const CollectiveNode& node : collectives_) {
    for (size_t i = 0; i < node.members(); ++i) {
      ProlongedOperator& most = most_prolonged_[node.summary->members[i].rank];
      if (node.prolonged_ns[i] > most.prolonged_ns)
        most = {.collective = &node, .prolonged_ns = node.prolonged_ns[i]};
    }
  }
  for (const ReceiveNode& node : receives_) {
    ProlongedOperator& most = most_prolonged_[node.pair->destination];
    if (node.prolonged_ns > most.prolonged_ns)
      most = {.receive = &node, .prolonged_ns = node.prolonged_ns};
  }
}

ProlongedOperator OperatorGraph::MostProlonged(RankId rank) const {
  const auto it = most_prolonged_.find(rank);
  return it == most_prolonged_.end() ? ProlongedOperator{} : it->second;
}

}  // namespace eroica

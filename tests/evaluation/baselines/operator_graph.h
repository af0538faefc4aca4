// The communication operators of a window as Holmes links them: which of them are prolonged, and
// whose.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// A collective communicator. prolonged_ns: by member, time an iteration over the shortest mean
// duration of the peers; 0 where the member is normal.
struct CollectiveNode {
  const CollectiveSummary* summary = nullptr;
  std::vector<double> prolonged_ns;
  size_t abnormal = 0;  // members

  size_t members() const { return prolonged_ns.size(); }
  // The one normal member where all others are abnormal.
  std::optional<RankId> NormalAmongAbnormal() const;
};

// The receives of one rank from another.
struct ReceiveNode {
  const PairSummary* pair = nullptr;
  double prolonged_ns = 0;  // an iteration; 0 where it is normal
};

// The most prolonged operator of a rank: one of the two, or none.
struct ProlongedOperator {
  const CollectiveNode* collective = nullptr;
  const ReceiveNode* receive = nullptr;
  double prolonged_ns = 0;
};

class OperatorGraph {
 public:
  // delta: how many times as long an iteration must become by an operator for it to be abnormal.
  // The view must outlive the graph.
  OperatorGraph(const CrossRankView& view, double delta);
  OperatorGraph(const OperatorGraph&) = delete;
  OperatorGraph& operator=(const OperatorGraph&) = delete;

  const std::vector<CollectiveNode>& collectives() const { return collectives_; }
  const std::vector<ReceiveNode>& receives() const { return receives_; }
  ProlongedOperator MostProlonged(RankId rank) const;

 private:
  void AddCollectives(const CrossRankView& view);
  void AddReceives(const CrossRankView& view);
  void Index();

  double steps_ = 1;
  double min_prolonged_ns_ = 0;  // an iteration
  std::vector<CollectiveNode> collectives_;
  std::vector<ReceiveNode> receives_;
  std::map<RankId, ProlongedOperator> most_prolonged_;
};

}  // namespace eroica

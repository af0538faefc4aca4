// Names the rank that arrived last at the collectives of a window, for windows too short to show
// persistence. README.md beside this file.
#pragma once

#include "diagnosis/operator.h"

namespace eroica {

struct CollectiveWaitOptions {
  uint32_t max_steps = 2;         // windows of more steps belong to SlowRankOperator
  uint64_t min_operations = 4;    // that all members joined
  double min_caused_share = 0.4;  // of all waiting that late arrivals caused
  // probability that a rank like all others arrives last so often (binomial)
  double max_chance = 0.01;
  double min_lost_share = 0.05;  // of the window: mean over the victims of what they lost
};

class CollectiveWaitOperator final : public DiagnosisOperator {
 public:
  explicit CollectiveWaitOperator(CollectiveWaitOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "collective_wait"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  CollectiveWaitOptions options_;
};

}  // namespace eroica

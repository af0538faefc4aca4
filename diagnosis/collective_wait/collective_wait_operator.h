// Names the rank that arrived last at the collectives of a window, for windows too short to show
// persistence. README.md beside this file.
#pragma once

#include "diagnosis/operator.h"

namespace eroica {

struct CollectiveWaitOptions {
  uint32_t max_steps = 2;         // windows of more steps belong to SlowRankOperator
  uint64_t min_operations = 4;    // that all members joined
  // probability that any rank of a job whose ranks are the same would make the others wait so
  // often and so long (arrival_account.h)
  double max_p_value = 1e-3;
  // or so seldom, where the window lost so much: what to do about a third of a step is worth a look
  // that one in twenty healthy windows wastes
  double max_p_value_of_large_loss = 0.05;
  double large_loss = 0.3;
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

// Says that the network limits a job of whose connections nothing is known, and what would tell
// which link. Claim, evidence and silence: README.md beside this file.
#pragma once

#include "diagnosis/operator.h"

namespace eroica {

struct SlowTransferOptions {
  size_t min_steps = 3;
  // of a step in collectives: what EROICA expects at the most (METHODS 1.10)
  double max_share = 0.3;
  double max_late_share = 0.5;  // of that, in waiting for late members: more, and it is them
  // of the median's time in collectives: who spends less of it there is late itself
  double least_alike = 0.75;
};

class SlowTransferOperator final : public DiagnosisOperator {
 public:
  explicit SlowTransferOperator(SlowTransferOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "slow_transfer"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  SlowTransferOptions options_;
};

}  // namespace eroica

// Turns the differential comparison into findings: a function that behaves on a rank unlike on its
// peers, where that costs the rank time which the others then wait for. Beside a claim of slow_rank
// about the same rank it adds its evidence (RootCause merges them). Claim and silence: README.md.
#pragma once

#include "diagnosis/differential/differential_options.h"
#include "diagnosis/operator.h"

namespace eroica {

struct DifferentialOperatorOptions {
  DifferentialOptions comparison;
  double min_share = 0.03;  // of the window: what the function takes longer than on the peers
  // of that: what the rank as a whole works longer than its peers; a victim's excess is made up for
  // by its waiting
  double min_work_share = 0.5;
  // in windows of fewer than min_steps: a function that ran once or twice shows no behaviour
  uint64_t min_executions = 20;
  uint32_t min_steps = 3;
  double min_ranks_seen = 0.5;  // of the world
};

class DifferentialOperator final : public DiagnosisOperator {
 public:
  explicit DifferentialOperator(DifferentialOperatorOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "differential"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  DifferentialOperatorOptions options_;
};

}  // namespace eroica

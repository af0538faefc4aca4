// Baseline (b): mean + 3 sigma.
//
// Rule: for every function, the mean and standard deviation of the ranks' mean duration of a call
// over all ranks that ran it; a rank above mean + 3 sigma is blamed. One claim a function, the
// function whose worst rank lies the most sigmas out first. No roles, no gate. Functions below 0.5
// % of a rank's window never reach the view.
// Source: the 3-sigma rule, which Holmes (NSDI'25, METHODS 2.3 and 2.6) takes as a baseline and
// finds wanting.
#pragma once

#include "diagnosis/operator.h"

namespace eroica {

class ThreeSigmaBaseline final : public DiagnosisOperator {
 public:
  std::string_view name() const override { return "three_sigma"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;
};

}  // namespace eroica

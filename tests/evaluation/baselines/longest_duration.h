// Baseline (a): the longest duration wins. What a person does who looks at one profile after the
// other.
//
// Rule: of every function that takes at least 1 % of the window on some rank (nobody looks at
// smaller ones), the mean duration of a call on each rank that ran it, over the median of these
// ranks. The one rank and function with the largest ratio is blamed, whatever the function is,
// where the ratio is at least 1.05 (the factor at which EROICA's trigger calls an iteration slow):
// below it, all bars look the same.
// Source: none; the habit. METHODS 6 calls it the rule that blames victims.
#pragma once

#include "diagnosis/operator.h"

namespace eroica {

class LongestDurationBaseline final : public DiagnosisOperator {
 public:
  std::string_view name() const override { return "longest_duration"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;
};

}  // namespace eroica

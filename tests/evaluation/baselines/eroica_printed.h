// Baseline (c): EROICA (arXiv 2506.08528, NSDI'26) as printed, METHODS 1.7 to 1.10: no roles, no
// floors, no least excess.
//
// Expectation. R_f = [0, 0.01] (Python), [0, 0.30] (collectives), [0, 1] (kernels) for beta,
// everything for mu and sigma; D = the Manhattan
//   distance of (beta, mu, sigma) from it. No range is given for memory operations, nor for CPU
//   operators, which the paper has no class for: never unexpected.
// Difference. Phat = each dimension over its largest value of all workers; Delta = the share of N =
// min(100, |W|) random workers at a
//   Manhattan distance of at least 0.4. A worker that does not run the function stands at (0, 0,
//   0), as the formula of beta has it (case study 2-P3: pin_memory on 3 workers of 3,400).
// Verdict. beta > 0.01 and (D > 0 or Delta > median + 5 MAD of Delta over the workers).
//
// Where the text leaves a choice: one random sample a function, shared by its workers, drawn with a
// fixed seed; a dimension that is 0 everywhere stays 0; one output row a function with its workers,
// the largest mean beta of these workers first. The paper's rows know no kinds: a row of all
// workers becomes "equal on all ranks" with nobody to blame, a row of a collective "communication",
// any other a slow rank. Functions below 0.5 % of a rank's window are folded before they reach the
// view: such a worker stands at (0, 0, 0), too.
#pragma once

#include "diagnosis/operator.h"

namespace eroica {

class EroicaPrintedBaseline final : public DiagnosisOperator {
 public:
  std::string_view name() const override { return "eroica_printed"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;
};

}  // namespace eroica

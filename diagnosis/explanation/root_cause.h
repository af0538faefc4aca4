// From what the operators claim of one window to the findings that leave it: one fault, one
// finding.
#pragma once

#include <memory>
#include <vector>

#include "diagnosis/operator.h"

namespace eroica {

// The operators of DESIGN 8 that are built, with their default options, in the order in which they
// are asked.
std::vector<std::unique_ptr<DiagnosisOperator>> DefaultOperators();

// Pure: same view, same findings, whatever order the operators answer in.
class RootCause {
 public:
  explicit RootCause(std::vector<std::unique_ptr<DiagnosisOperator>> operators)
      : operators_(std::move(operators)) {}

  // Asks every operator, merges claims about the same culprit (the more confident one keeps its
  // words, the others add their evidence), says by the accounting what each costs, adds the chain
  // of effects and the data quality, and sorts by impact. Ids are set, states are kOpened.
  std::vector<Finding> Diagnose(const CrossRankView& view) const;

 private:
  std::vector<std::unique_ptr<DiagnosisOperator>> operators_;
};

}  // namespace eroica

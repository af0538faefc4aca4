// A job that has become slower than itself, on all ranks alike. Claim, evidence and silence: README.md beside this file.
#pragma once

#include "diagnosis/operator.h"
#include "diagnosis/regression/unneeded_python.h"

namespace eroica {

struct RegressionOptions {
  size_t min_past = 2;        // windows before the change
  double min_share = 0.03;    // of a step
  double min_deviations = 4;  // of the noise of a window's mean
  double min_coverage = 0.5;  // of the longer step, by the function that is named
  ExpectationOptions expectation;
};

class RegressionOperator final : public DiagnosisOperator {
 public:
  explicit RegressionOperator(RegressionOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "regression"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  RegressionOptions options_;
};

}  // namespace eroica

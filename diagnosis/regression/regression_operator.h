// A job that has become slower than it was, equally on all ranks. Claim, evidence and silence:
// README.md beside this file.
#pragma once

#include "diagnosis/operator.h"
#include "diagnosis/regression/job_change.h"
#include "diagnosis/regression/network_change.h"
#include "diagnosis/regression/new_function.h"
#include "diagnosis/regression/unneeded_python.h"

namespace eroica {

struct RegressionOptions {
  ChangeOptions change;
  NewFunctionOptions new_function;
  NetworkChangeOptions network;
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

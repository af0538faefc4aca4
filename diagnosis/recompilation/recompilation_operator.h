// A rank that compiles again while its peers train. Claim, evidence and silence: README.md.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "diagnosis/operator.h"

namespace eroica {

struct RecompilationOptions {
  double min_share = 0.05;        // of the window that it takes longer than on the peers
  double min_specificity = 0.75;  // of its time that the peers do not need
};

class RecompilationOperator final : public DiagnosisOperator {
 public:
  explicit RecompilationOperator(RecompilationOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "recompilation"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  const RecompilationOptions options_;
};

// Drops claims of other operators that name the compiler on a rank with a claim of recompilation:
// one finding says that it compiles.
void DropOtherWordsForRecompilation(std::vector<Finding>& claims);

}  // namespace eroica

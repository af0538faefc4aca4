// A rank that is slow in some steps of a window and well in most; and what rotating stragglers run.
// Claim, evidence and silence: README.md beside this file.
#pragma once

#include "diagnosis/measurements/cause_function.h"
#include "diagnosis/operator.h"
#include "diagnosis/spike/rotation.h"
#include "diagnosis/spike/step_spikes.h"
#include "diagnosis/spike/turns.h"

namespace eroica {

struct SpikeOptions {
  double min_ranks_seen = 0.5;
  StepSpikeOptions steps;
  RotationOptions rotation;
  TurnsOptions turns;
  uint32_t windows_with_rotation = 2;  // of the newest ones, before it is claimed
  // or one, of a rotation whose p-value is as small as that of two in four windows
  double max_p_value_alone = 3e-6;
  CauseOptions cause{.prefer_builtin = true};
};

class SpikeOperator final : public DiagnosisOperator {
 public:
  explicit SpikeOperator(SpikeOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "spike"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  SpikeOptions options_;
};

}  // namespace eroica

// A rank that is slow in a single step of a window. Claim, evidence and silence: README.md beside this file.
#pragma once

#include "diagnosis/cause_function.h"
#include "diagnosis/operator.h"
#include "diagnosis/spike/lone_spikes.h"

namespace eroica {

struct SpikeOptions {
  uint32_t min_steps = 3;     // fewer do not tell a spike from a rank that is slow
  double max_lasting = 0.3;   // share of the excess that the other steps show: more is slow_rank's
  double min_share = 0.01;    // of the window's steps: all that is asked for
  double min_separation = 9;  // the spike over what steps differ by: lengths of inputs have long tails
  double min_ranks_seen = 0.5;
  LoneSpikeOptions lone;
  CauseOptions cause{.prefer_builtin = true};
};

class SpikeOperator final : public DiagnosisOperator {
 public:
  explicit SpikeOperator(SpikeOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "spike"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  // Of ranks without peers.
  void EvaluateLone(const CrossRankView& view, std::vector<Finding>& findings) const;

  SpikeOptions options_;
};

}  // namespace eroica

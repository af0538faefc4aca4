// Work that is unevenly shared out: a pipeline stage that is too heavy, or inputs of unequal size.
// Nobody's machine is at fault. README.md beside this file.
#pragma once

#include <span>

#include "diagnosis/imbalance/hidden_waits.h"
#include "diagnosis/imbalance/stage_work.h"
#include "diagnosis/imbalance/varying_work.h"
#include "diagnosis/operator.h"

namespace eroica {

struct ImbalanceOptions {
  uint32_t min_stages = 3;  // with two nobody can say which of them is the odd one
  // work of the heaviest stage over the median of the others; embedding and head make stages differ
  // by up to half by nature
  double min_stage_ratio = 1.55;
  // distance of the heaviest stage from the others over the spread of the others
  double min_stage_gap = 3;
  double min_stage_share = 0.1;  // of a step: heaviest - median of the others
  // growth of the layers of the heaviest stage over the spread of the others', which counts as 1.5
  // % at least
  double min_layer_gap = 3;
  // of a step: what longer layers cost. Noise does not make stages differ in most single calls
  double min_layer_share = 0.01;
  double min_data_spread = 0.25;  // (busiest - idlest) / median busy time within a role
  double min_data_share = 0.05;   // of a step: busiest - median of its peers
  // largest step between neighbours over the whole spread: more is a lone outlier, which slow_rank
  // judges
  double max_data_gap = 0.6;
  double min_data_steps = 0.8;  // share of steps in which the busiest rank is well above its peers
  // of what the busiest rank runs longer, so much may be foreign to its peers
  double max_data_specificity = 0.7;
  double min_share = 0.03;  // of a step: what ranks with more work than their peers cost the others
  // that uneven steps alone made the same ranks slow; there are many ranks and windows to be
  // mistaken in
  double max_p_value = 1e-10;
  double min_growth_steps = 0.75;  // share of steps in which such a rank is slow
  double min_coverage = 0.5;       // of the excess, by the kernels on data
  uint32_t min_steps = 3;
  double min_ranks_seen = 0.5;  // of the world
  HiddenWaitsOptions hidden_waits;
  VaryingWorkOptions varying;
};

class ImbalanceOperator final : public DiagnosisOperator {
 public:
  explicit ImbalanceOperator(ImbalanceOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "imbalance"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  void EvaluateStages(const CrossRankView& view, std::vector<Finding>& findings) const;
  // By the kernels that all stages run; whether they tell.
  bool EvaluateLayers(const CrossRankView& view, std::span<const StageWork> stages,
                      std::vector<Finding>& findings) const;
  bool IsHeavier(std::span<const StageWork> stages, const StageWork& heavy,
                 const StageLayers& layers) const;
  // Ranks whose kernels show that they have more work than their peers. Whether that is the inputs.
  bool EvaluateGrowth(const CrossRankView& view, std::vector<Finding>& findings) const;
  void EvaluateVarying(const CrossRankView& view, std::vector<Finding>& findings) const;
  void EvaluateData(const CrossRankView& view, std::vector<Finding>& findings) const;

  ImbalanceOptions options_;
};

}  // namespace eroica

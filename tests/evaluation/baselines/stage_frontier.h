// Baseline (f): StageFrontier (arXiv 2606.06751, METHODS 9).
//
// At each stage boundary of a step (data, forward, backward, optimizer) the frontier is the
// cumulative time of the rank that is furthest along; its increments add up to the step's exposed
// time and name, by their leader, the stage and rank where delay first shows. Stages are ranked by
// their share of the exposed time. The method names stages and ranks, never functions, and labels
// what the coarse signal cannot decide instead of guessing.
//
// Its labels are not printed in what we could read (abstract and introduction), so these are our
// words for them: in a step a leader is undecided where another rank is as far (within 5 % of the
// increment), or where the leader only carries an earlier lead along (another rank spent as long in
// this stage, likewise); in a window a stage is decided where one rank leads it, decided, in at
// least three quarters of the steps. Only decided stages are claimed, the two largest (the paper
// scores its top two suspects). Without marks of the stages (StepRecord::stage_ns) it has nothing
// to say.
#pragma once

#include "diagnosis/operator.h"

namespace eroica {

class StageFrontierBaseline final : public DiagnosisOperator {
 public:
  std::string_view name() const override { return "stage_frontier"; }
  std::string_view version() const override { return "1"; }
  // The finding's subkind is the stage.
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;
};

}  // namespace eroica

// A device that somebody outside the job uses, too. Claim, evidence and silence: README.md beside
// this file.
#pragma once

#include "diagnosis/busy_time.h"
#include "diagnosis/compute_growth.h"
#include "diagnosis/operator.h"

namespace eroica {

struct ContentionOptions {
  uint32_t min_steps = 3;       // fewer show no persistence
  double min_lasting = 0.3;     // share of the excess that the steps other than the slowest show
  double min_share = 0.03;      // of a step: what is worth a finding at all
  double min_separation = 6;    // growth of the kernels over what the peers differ by
  double min_coverage = 0.5;    // of the excess, by the kernels' growth
  double min_ranks_seen = 0.5;  // of the world
  // Of ranks that are late by little over many windows (lasting_excess.h):
  double least_growth = 0.01;  // of all kernels of a device
};

class ContentionOperator final : public DiagnosisOperator {
 public:
  explicit ContentionOperator(ContentionOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "contention"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  // Whether somebody else is on the rank's device, and that is what makes it late.
  bool IsShared(const CrossRankView& view, const ComputeGrowth& growth, const BusyTime& busy) const;

  ContentionOptions options_;
};

}  // namespace eroica

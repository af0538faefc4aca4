// Names the rank that holds a synchronizing job up, and what it runs instead. Claim, evidence and
// silence: README.md beside this file.
#pragma once

#include <optional>

#include "diagnosis/hypotheses/compute_growth.h"
#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/measurements/cause_function.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/operator.h"

namespace eroica {

struct SlowRankOptions {
  // fewer show no persistence: CollectiveWaitOperator judges those windows by arrival order
  uint32_t min_steps = 3;
  // share of the excess that the steps other than the slowest show: what happens once is a pause
  double min_lasting = 0.3;
  // of a step: what is worth a finding at all (EROICA's faults begin at 3 to 5 % of step time)
  double min_share = 0.03;
  double min_separation = 3;              // excess over noise, where a function explains the excess
  double min_separation_unexplained = 6;  // where only a whole class of functions does
  // share of the window's steps: uneven inputs make a rank slower in everything in some
  double min_slow_steps_unexplained = 0.75;
  double min_share_unexplained = 0.05;
  // share of the class's time that the peers do not need: a rank that is 8 % slower in everything
  // shares its cores with something, on a healthy host too (net_healthy_4r)
  double min_slowdown_unexplained = 0.15;
  // share by time of a device's kernels that are longer, where all of them are blamed
  double min_uniform = 0.5;
  // Share of a function's time that the peers do not need, and of the time in which nothing was
  // recorded: less is the way of a device or of its inputs, not of a function. Asked of that time,
  // which is a function whose name is missing, and where many windows show a rank late by little
  // (lasting_excess.h).
  double min_specificity = 0.15;
  double least_growth = 0.01;  // of all kernels of a device, over many windows
  CauseOptions cause;
};

class SlowRankOperator final : public DiagnosisOperator {
 public:
  explicit SlowRankOperator(SlowRankOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "slow_rank"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  // Whether the growth of the rank's kernels is what makes it late.
  bool Explains(const ComputeGrowth& growth, const BusyTime& busy) const;
  static bool IsUnevenWork(const ComputeGrowth& growth);
  std::optional<CauseFunction> FunctionOf(const CrossRankView& view, const BusyTime& busy) const;
  void EvaluateLasting(const CrossRankView& view, const BusyTime& lasting,
                       std::vector<Finding>& findings) const;
  void EvaluateFunctions(const CrossRankView& view, const BusyTime& busy,
                         const ComputeGrowth& growth, std::vector<Finding>& findings) const;

  SlowRankOptions options_;
};

}  // namespace eroica

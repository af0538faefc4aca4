#include "diagnosis/contention/contention_operator.h"

#include <fmt/format.h>

#include <optional>

#include "diagnosis/duration_text.h"
#include "diagnosis/held_up.h"
#include "diagnosis/lasting_claim.h"
#include "diagnosis/slow_rank/slow_device.h"

namespace eroica {
namespace {

Finding Describe(const CrossRankView& view, const BusyTime& busy, const ComputeGrowth& growth,
                 const ContentionOptions& options) {
  const RankView& rank = view.ranks()[busy.rank];
  Finding finding;
  finding.kind = FindingKind::kContention;
  finding.subkind = "device";
  finding.culprits = {CulpritOf(rank)};
  finding.victims = VictimsOf(view, busy);
  finding.function = "every gpu_compute function";
  finding.function_class = FunctionClass::kGpuCompute;
  finding.evidence = GrowthEvidence(busy, growth, options.min_separation);
  finding.lost_ns_per_step = busy.excess_ns;
  finding.confidence = 0.9 * busy.steps / (busy.steps + 1.0);
  finding.first_step = FirstStepOf(rank, busy);
  finding.last_step = rank.batch->steps.back().id;
  finding.title = fmt::format(
      "The device of rank {} is shared: all its kernels take {} longer than its peers', {} too, at "
      "the usual clock; {} a step "
      "of {} are lost.",
      rank.rank.value, PercentText(growth.growth),
      growth.parameter_growth ? "the optimizer's" : "and what moves over its links",
      DurationText(busy.excess_ns), DurationText(busy.step_ns));
  finding.explanation = fmt::format(
      "Larger inputs would not lengthen {} (here by {}), a throttled device would show a lower SM "
      "clock (here {:+.1f} % of the "
      "peers'). What is left is somebody else on the device: another process, a monitor, a "
      "profiler.",
      growth.parameter_growth ? "the optimizer" : "what its links take for a byte",
      PercentText(growth.apart_growth()), 100 * growth.clock_growth.value_or(0));
  finding.suggested_action = fmt::format(
      "List the processes on the device of {}: nvidia-smi pmon, or DCGM's fields by process.",
      PlaceOf(rank));
  AddCaveatOfSteps(busy, &finding);
  return finding;
}

}  // namespace

void ContentionOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  if (static_cast<double>(view.ranks().size()) < options_.min_ranks_seen * view.world_size())
    return;
  for (const BusyTime& busy : view.busy_times()) {
    if (busy.steps < options_.min_steps || busy.share() < options_.min_share) continue;
    if (busy.lasting_ns < options_.min_lasting * busy.excess_ns) continue;
    const ComputeGrowth growth = MeasureComputeGrowth(view, busy);
    if (IsShared(view, growth, busy)) findings.push_back(Describe(view, busy, growth, options_));
  }
  for (const BusyTime& lasting : view.lasting_excess()) {
    const std::optional<BusyTime> busy = LastingInSteps(view, lasting, findings);
    if (!busy) continue;
    const ComputeGrowth growth = MeasureComputeGrowth(view, *busy, options_.least_growth);
    if (!IsShared(view, growth, *busy)) continue;
    findings.push_back(Describe(view, *busy, growth, options_));
    TellLasting(lasting, findings.back());
  }
}

bool ContentionOperator::IsShared(const CrossRankView& view, const ComputeGrowth& growth,
                                  const BusyTime& busy) const {
  return growth.cause == GrowthCause::kShared &&
         StandsOut(growth, options_.min_separation, view.ranks().size()) &&
         growth.excess_ns() >= options_.min_coverage * busy.excess_ns;
}

}  // namespace eroica

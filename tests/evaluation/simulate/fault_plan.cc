#include "tests/evaluation/simulate/fault_plan.h"

#include <algorithm>
#include <utility>

#include "schemas/check.h"
#include "tests/evaluation/simulate/fault_strikes.h"

namespace eroica::simulate {
namespace {

// Keep the draws of one thing apart from those of another.
constexpr uint64_t kFaultDraws = 0xFA017;

// What a fault adds to a step at the most.
constexpr double kLongestNs = 3.6e12;

void NoEffect(const FaultMoment&, StepEffects&) {}

}  // namespace

FaultEffect EffectOf(FaultKind kind) {
  if (kind == FaultKind::kLinkSlow || kind == FaultKind::kCongestedPath) return NoEffect;
  for (const auto find :
       {FindDeviceFault, FindNetworkFault, FindThreadFault, FindLoadFault, FindHang}) {
    if (const FaultEffect effect = find(kind); effect != nullptr) return effect;
  }
  EROICA_CHECK(false);
  return nullptr;
}

FaultPlan::FaultPlan(const SimulatedJob& job, FunctionCatalog& catalog, uint32_t first_step)
    : layout_(job.layout), seed_(job.seed), variation_(job, catalog, first_step) {
  std::vector<std::vector<Blow>> by_rank(layout_.world_size());
  if (!job.faults.empty()) {
    const HealthyStep healthy(job, catalog);
    for (const Fault& fault : job.faults) Plan(fault, job, healthy, catalog, by_rank);
  }
  first_blow_.reserve(by_rank.size() + 1);
  for (const std::vector<Blow>& blows : by_rank) {
    first_blow_.push_back(static_cast<uint32_t>(blows_.size()));
    blows_.insert(blows_.end(), blows.begin(), blows.end());
  }
  first_blow_.push_back(static_cast<uint32_t>(blows_.size()));
}

void FaultPlan::Plan(const Fault& fault, const SimulatedJob& job, const HealthyStep& healthy,
                     FunctionCatalog& catalog, std::vector<std::vector<Blow>>& by_rank) {
  const auto index = static_cast<uint32_t>(faults_.size());
  PlannedFault planned{.kind = fault.kind,
                       .severity = fault.severity,
                       .first_step = fault.first_step,
                       .last_step = fault.last_step,
                       .duty = fault.duty,
                       .shape = fault.shape,
                       .key = NoiseKey(seed_, kFaultDraws, index),
                       .effect = EffectOf(fault.kind),
                       .roofline = Roofline(job.hardware),
                       .slot_over_nic = job.fabric.slot_over_nic};
  planned.duration_ns = static_cast<int64_t>(
      std::min(static_cast<double>(healthy.step_ns()) * fault.severity, kLongestNs));
  for (uint32_t stage = 0; stage < layout_.pipeline; ++stage)
    planned.mean_kernel_ns.push_back(healthy.mean_kernel_ns(stage));
  planned.functions = FunctionsOf(fault, catalog);
  AddPaths(fault, job, planned.paths);
  if (fault.kind == FaultKind::kVaryingLengths) {
    planned.lengths = std::make_shared<const MicroBatchLengths>(
        fault.severity, job.workload.micro_batches, planned.key);
  }
  for (const Strike& strike : StrikesOf(fault, job, healthy, planned.key))
    by_rank[strike.rank].push_back({.fault = index, .amount = strike.amount});
  faults_.push_back(std::move(planned));
}

bool FaultPlan::ShowsIn(const PlannedFault& fault, uint32_t step) const {
  if (step < fault.first_step || step > fault.last_step) return false;
  return fault.duty >= 1 || UniformOf(NoiseKey(fault.key, step, 0)) < fault.duty;
}

void FaultPlan::EffectsOn(uint32_t rank, uint32_t step, StepEffects& effects) const {
  static const StepEffects kNone;
  effects = kNone;
  variation_.AddTo(rank, step, effects);
  const uint32_t end = first_blow_[rank + 1];
  for (uint32_t i = first_blow_[rank]; i < end; ++i) {
    const PlannedFault& fault = faults_[blows_[i].fault];
    if (!ShowsIn(fault, step)) continue;
    const Coordinates at = CoordinatesOf(layout_, rank);
    fault.effect({.fault = fault,
                  .amount = blows_[i].amount,
                  .stage = at.pipeline,
                  .replica = at.data,
                  .rank = rank,
                  .step = step,
                  .key = NoiseKey(fault.key, rank, step, 1)},
                 effects);
  }
  const auto by_phase = [](const HostInsertion& a, const HostInsertion& b) {
    return a.phase < b.phase;
  };
  if (effects.insertions.size() > 1)
    std::stable_sort(effects.insertions.begin(), effects.insertions.end(), by_phase);
}

void FaultPlan::PathsIn(uint32_t step, std::vector<PathEffect>& paths) const {
  paths.clear();
  for (const PlannedFault& fault : faults_) {
    if (!fault.paths.empty() && ShowsIn(fault, step))
      paths.insert(paths.end(), fault.paths.begin(), fault.paths.end());
  }
  const auto ends = [](const PathEffect& path) {
    return std::pair(path.source_host, path.destination_host);
  };
  std::sort(paths.begin(), paths.end(),
            [&](const PathEffect& a, const PathEffect& b) { return ends(a) < ends(b); });
  size_t kept = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (i > 0 && ends(paths[i]) == ends(paths[kept - 1])) {
      Multiply(paths[kept - 1].speed, paths[i].speed);
    } else {
      paths[kept++] = paths[i];
    }
  }
  paths.resize(kept);
}

}  // namespace eroica::simulate

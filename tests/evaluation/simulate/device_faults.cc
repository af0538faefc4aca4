#include <algorithm>

#include "tests/evaluation/simulate/fault_effects.h"
#include "tests/evaluation/simulate/fault_strikes.h"
#include "tests/evaluation/simulate/noise.h"

namespace eroica::simulate {
namespace {

constexpr uint32_t kThermalPeriodSteps = 12;
constexpr uint32_t kThrottlingSteps = 4;  // for so long the same ranks throttle
constexpr int64_t kShortestPulseNs = 100'000;
constexpr int64_t kEccPauseNs = 500'000;
constexpr double kFragmentedSteps = 0.5;
constexpr double kSpikeSteps = 1.0 / 16;

void SlowKernels(Factor longer, StepEffects& effects) {
  for (Factor& kernel : effects.kernel) Multiply(kernel, longer);
}

void GpuSlow(const FaultMoment& moment, StepEffects& effects) {
  SlowKernels(moment.amount, effects);
  Multiply(effects.sm_clock, Inverse(moment.amount));
}

void ThermalThrottling(const FaultMoment& moment, StepEffects& effects) {
  constexpr uint32_t kHalf = kThermalPeriodSteps / 2;
  const uint32_t at = (moment.step - moment.fault.first_step) % kThermalPeriodSteps;
  const uint32_t height = at <= kHalf ? at : kThermalPeriodSteps - at;
  const auto longer = static_cast<Factor>(kUnit + uint64_t{moment.amount - kUnit} * height / kHalf);
  SlowKernels(longer, effects);
  Multiply(effects.sm_clock, Inverse(longer));
}

// Pulses that add added_ns each, so often that kernels get longer by the severity on the mean.
void Pulse(const FaultMoment& moment, int64_t added_ns, StepEffects& effects) {
  const int64_t kernel_ns = moment.fault.mean_kernel_ns[moment.stage];
  const double chance =
      moment.fault.severity * static_cast<double>(kernel_ns) / static_cast<double>(added_ns);
  effects.pulses = {.per_million_kernels = static_cast<uint32_t>(std::min(chance, 1.0) * 1e6 + 0.5),
                    .duration_ns = added_ns};
}

// Powers of two from 100 us to 6.4 ms, all alike; at a third of the clock a pulse adds two thirds
// of its length.
void PowerThrottling(const FaultMoment& moment, StepEffects& effects) {
  const uint64_t turn = NoiseKey(moment.fault.key, moment.rank, moment.step / kThrottlingSteps);
  if (turn & 1) return;
  Pulse(moment, (kShortestPulseNs << (moment.key % 7)) * 2 / 3, effects);
  Multiply(effects.sm_clock, Inverse(moment.amount));
}

void EccRetries(const FaultMoment& moment, StepEffects& effects) {
  Pulse(moment, kEccPauseNs, effects);
}

void GpuShared(const FaultMoment& moment, StepEffects& effects) {
  SlowKernels(moment.amount, effects);
  const Factor speed = Inverse(moment.amount);
  for (Factor* link : {&effects.nvlink, &effects.nic_send, &effects.nic_receive, &effects.pcie})
    Multiply(*link, speed);
}

void MemoryFragmentation(const FaultMoment& moment, StepEffects& effects) {
  if (UniformOf(moment.key) >= kFragmentedSteps) return;
  const auto calls = static_cast<int64_t>(moment.fault.functions.size());
  for (const PlannedFunction& call : moment.fault.functions) {
    effects.insertions.push_back({.phase = call.phase,
                                  .function = call.function,
                                  .duration_ns = moment.fault.duration_ns / calls});
  }
}

void TransientSpike(const FaultMoment& moment, StepEffects& effects) {
  if (UniformOf(moment.key) < kSpikeSteps) SlowKernels(moment.amount, effects);
}

}  // namespace

FaultEffect FindDeviceFault(FaultKind kind) {
  switch (kind) {
    case FaultKind::kGpuSlow: return GpuSlow;
    case FaultKind::kThermalThrottling: return ThermalThrottling;
    case FaultKind::kPowerThrottling: return PowerThrottling;
    case FaultKind::kEccRetries: return EccRetries;
    case FaultKind::kGpuShared: return GpuShared;
    case FaultKind::kMemoryFragmentation: return MemoryFragmentation;
    case FaultKind::kTransientSpike: return TransientSpike;
    default: return nullptr;
  }
}

}  // namespace eroica::simulate

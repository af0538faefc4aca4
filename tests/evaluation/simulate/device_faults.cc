#include <algorithm>

#include "tests/evaluation/simulate/fault_effects.h"
#include "tests/evaluation/simulate/fault_strikes.h"
#include "tests/evaluation/simulate/noise.h"

namespace eroica::simulate {
namespace {

void SlowKernels(const PlannedFault& fault, Factor longer, StepEffects& effects) {
  for (size_t kind = 0; kind < effects.kernel.size(); ++kind)
    Multiply(effects.kernel[kind],
             fault.roofline.UnderClock(static_cast<KernelKind>(kind), longer));
}

void GpuSlow(const FaultMoment& moment, StepEffects& effects) {
  SlowKernels(moment.fault, moment.amount, effects);
  Multiply(effects.sm_clock, Inverse(moment.amount));
}

void ThermalThrottling(const FaultMoment& moment, StepEffects& effects) {
  const uint32_t period = moment.fault.shape.period_steps;
  const uint32_t half = period / 2;
  const uint32_t at = (moment.step - moment.fault.first_step) % period;
  const uint32_t height = at <= half ? at : period - at;
  const auto longer = static_cast<Factor>(kUnit + uint64_t{moment.amount - kUnit} * height / half);
  SlowKernels(moment.fault, longer, effects);
  Multiply(effects.sm_clock, Inverse(longer));
}

// Pulses that add added_ns each, so often that kernels get longer by the severity on the mean.
void Pulse(const FaultMoment& moment, int64_t added_ns, StepEffects& effects) {
  if (moment.fault.shape.by_time) {
    const double period_ns = static_cast<double>(added_ns) / moment.fault.severity;
    effects.pulses = {.duration_ns = added_ns,
                      .period_ns = std::max<int64_t>(1, static_cast<int64_t>(period_ns))};
    return;
  }
  const int64_t kernel_ns = moment.fault.mean_kernel_ns[moment.stage];
  const double probability =
      moment.fault.severity * static_cast<double>(kernel_ns) / static_cast<double>(added_ns);
  effects.pulses = {
      .per_million_kernels = static_cast<uint32_t>(std::min(probability, 1.0) * 1e6 + 0.5),
      .duration_ns = added_ns};
}

// One of so many lengths, each twice the one before, all as often.
int64_t DrawLength(int64_t shortest_ns, uint32_t lengths, uint64_t key) {
  return shortest_ns << (key % lengths);
}

// Pulses without a clock add their length, others the part that the clock lacks.
void PowerThrottling(const FaultMoment& moment, StepEffects& effects) {
  const FaultShape& shape = moment.fault.shape;
  const uint64_t turn = NoiseKey(moment.fault.key, moment.rank, moment.step / shape.turn_steps);
  const double draw = static_cast<double>(turn & 1) / 2 + UniformOf(Mix(turn)) / 2;
  if (draw >= shape.turn_share) return;
  const int64_t pulse_ns = DrawLength(shape.pulse_ns, shape.pulse_lengths, moment.key);
  Pulse(
      moment,
      std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(pulse_ns) * shape.pulse_loss)),
      effects);
  effects.pulses.of_clock = true;
  Multiply(effects.sm_clock, Inverse(moment.amount));
}

void EccRetries(const FaultMoment& moment, StepEffects& effects) {
  const FaultShape& shape = moment.fault.shape;
  Pulse(moment, DrawLength(shape.pause_ns, shape.pause_lengths, moment.key), effects);
}

void GpuShared(const FaultMoment& moment, StepEffects& effects) {
  for (Factor& kernel : effects.kernel) Multiply(kernel, moment.amount);
  const Factor speed = Inverse(Longer(moment.fault.severity * moment.fault.shape.link_share));
  for (Factor* link : {&effects.nvlink, &effects.nic_send, &effects.nic_receive, &effects.pcie})
    Multiply(*link, speed);
}

void MemorySlow(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.memory, moment.amount);
}

void MemoryFragmentation(const FaultMoment& moment, StepEffects& effects) {
  if (UniformOf(moment.key) >= moment.fault.shape.fragmented_share) return;
  const auto calls = static_cast<int64_t>(moment.fault.functions.size());
  for (const PlannedFunction& call : moment.fault.functions) {
    effects.insertions.push_back({.phase = call.phase,
                                  .function = call.function,
                                  .duration_ns = moment.fault.duration_ns / calls});
  }
}

// Whatever slows it, its clock does not.
void TransientSpike(const FaultMoment& moment, StepEffects& effects) {
  if (UniformOf(moment.key) >= moment.fault.shape.spike_share) return;
  for (Factor& kernel : effects.kernel) Multiply(kernel, moment.amount);
}

}  // namespace

FaultEffect FindDeviceFault(FaultKind kind) {
  switch (kind) {
    case FaultKind::kGpuSlow: return GpuSlow;
    case FaultKind::kThermalThrottling: return ThermalThrottling;
    case FaultKind::kPowerThrottling: return PowerThrottling;
    case FaultKind::kEccRetries: return EccRetries;
    case FaultKind::kGpuShared: return GpuShared;
    case FaultKind::kMemorySlow: return MemorySlow;
    case FaultKind::kMemoryFragmentation: return MemoryFragmentation;
    case FaultKind::kTransientSpike: return TransientSpike;
    default: return nullptr;
  }
}

}  // namespace eroica::simulate

#include "tests/evaluation/simulate/hardware_spread.h"

#include <algorithm>

#include "tests/evaluation/simulate/fault_effects.h"
#include "tests/evaluation/simulate/noise.h"
#include "tests/evaluation/simulate/roofline.h"

namespace eroica::simulate {
namespace {

// Keep the draws of one part of a machine apart from those of another.
enum class Part : uint64_t { kClock, kMemory, kProcessor, kCore, kNvlink, kNicSend, kNicReceive };
constexpr uint64_t kHardwareDraws = 0x4A12D;
constexpr double kFarthest = 2;  // standard deviations

}  // namespace

HardwareSpread::HardwareSpread(const SimulatedJob& job) {
  const Hardware& hardware = job.hardware;
  const double spreads[] = {hardware.device_spread, hardware.memory_spread,
                            hardware.processor_spread, hardware.core_spread, hardware.link_spread};
  if (std::all_of(std::begin(spreads), std::end(spreads), [](double one) { return one == 0; }))
    return;
  const Roofline roofline(hardware);
  const Quantiles normal(0);
  const auto draw = [&](Part part, uint64_t machine, double spread) {
    const uint64_t key = NoiseKey(job.seed ^ kHardwareDraws, static_cast<uint64_t>(part), machine);
    return LogFactor(spread * std::clamp(normal.Of(key), -kFarthest, kFarthest));
  };
  for (uint32_t rank = 0; rank < job.layout.world_size(); ++rank) {
    Machine& machine = ranks_.emplace_back();
    const Factor slower = draw(Part::kClock, rank, hardware.device_spread);
    const Factor memory = draw(Part::kMemory, rank, hardware.memory_spread);
    for (size_t kind = 0; kind < machine.kernel.size(); ++kind) {
      machine.kernel[kind] = roofline.UnderClock(static_cast<KernelKind>(kind), slower);
      Multiply(machine.kernel[kind], roofline.UnderMemory(static_cast<KernelKind>(kind), memory));
    }
    machine.clock = Inverse(slower);
    machine.host = draw(Part::kProcessor, job.layout.HostOf(rank), hardware.processor_spread);
    Multiply(machine.host, draw(Part::kCore, rank, hardware.core_spread));
    machine.nvlink = draw(Part::kNvlink, rank, hardware.link_spread);
    machine.nic_send = draw(Part::kNicSend, rank, hardware.link_spread);
    machine.nic_receive = draw(Part::kNicReceive, rank, hardware.link_spread);
  }
}

void HardwareSpread::AddTo(uint32_t rank, StepEffects& effects) const {
  const Machine& machine = ranks_[rank];
  for (size_t kind = 0; kind < machine.kernel.size(); ++kind)
    Multiply(effects.kernel[kind], machine.kernel[kind]);
  Multiply(effects.sm_clock, machine.clock);
  Multiply(effects.host, machine.host);
  Multiply(effects.nvlink, machine.nvlink);
  Multiply(effects.nic_send, machine.nic_send);
  Multiply(effects.nic_receive, machine.nic_receive);
}

}  // namespace eroica::simulate

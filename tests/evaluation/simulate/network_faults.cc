#include <algorithm>

#include "tests/evaluation/simulate/fault_effects.h"
#include "tests/evaluation/simulate/fault_strikes.h"
#include "tests/evaluation/simulate/noise.h"

namespace eroica::simulate {
namespace {

void SlowNic(Factor speed, StepEffects& effects) {
  Multiply(effects.nic_send, speed);
  Multiply(effects.nic_receive, speed);
}

void NicSlow(const FaultMoment& moment, StepEffects& effects) {
  SlowNic(SpeedLeft(moment.fault.severity), effects);
}
void NicSendSlow(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.nic_send, SpeedLeft(moment.fault.severity));
}
void NicReceiveSlow(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.nic_receive, SpeedLeft(moment.fault.severity));
}

void NicFlapping(const FaultMoment& moment, StepEffects& effects) {
  if (UniformOf(moment.key) < moment.fault.severity)
    SlowNic(SpeedLeft(moment.fault.shape.flapping_loss), effects);
}

void NicDown(const FaultMoment& moment, StepEffects& effects) { SlowNic(moment.amount, effects); }

void NvlinkSlow(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.nvlink, SpeedLeft(moment.fault.severity));
}
void NvlinkDown(const FaultMoment&, StepEffects& effects) { effects.nvlink_over_pcie = true; }

void PcieDowngrade(const FaultMoment& moment, StepEffects& effects) {
  const Factor left = SpeedLeft(moment.fault.severity);
  Multiply(effects.pcie, left);
  Multiply(effects.kernel[static_cast<size_t>(KernelKind::kCopy)], Inverse(left));
  SlowNic(std::min(kUnit, static_cast<Factor>(left * moment.fault.slot_over_nic)), effects);
}

void NcclSetting(const FaultMoment& moment, StepEffects& effects) {
  SlowNic(SpeedLeft(moment.fault.severity), effects);
  Multiply(effects.nvlink, SpeedLeft(moment.fault.severity));
}

}  // namespace

FaultEffect FindNetworkFault(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNicSlow:
    case FaultKind::kBondDegraded:
    case FaultKind::kSwitchSlow:
    case FaultKind::kNetworkSlowEverywhere: return NicSlow;
    case FaultKind::kNicSendSlow: return NicSendSlow;
    case FaultKind::kNicReceiveSlow: return NicReceiveSlow;
    case FaultKind::kNicFlapping: return NicFlapping;
    case FaultKind::kNicDown: return NicDown;
    case FaultKind::kNvlinkSlow: return NvlinkSlow;
    case FaultKind::kNvlinkDown: return NvlinkDown;
    case FaultKind::kPcieDowngrade: return PcieDowngrade;
    case FaultKind::kNcclSetting: return NcclSetting;
    default: return nullptr;
  }
}

}  // namespace eroica::simulate

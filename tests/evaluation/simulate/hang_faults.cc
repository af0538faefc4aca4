// Faults that stop a rank, or what it reports.
#include <algorithm>

#include "tests/evaluation/simulate/fault_effects.h"

namespace eroica::simulate {
namespace {

// In the backward pass every layout communicates: tensor groups and pipelines at once, data groups
// before its end.
void EnterAnother(const FaultMoment&, StepEffects& effects) {
  effects.stop = Stop::kWrongCollective;
  effects.stop_phase = Phase::kBackward;
}

void StandStill(const FaultMoment&, StepEffects& effects) {
  effects.stop = Stop::kTransferHangs;
  effects.stop_phase = Phase::kBackward;
}

void Block(const FaultMoment& moment, StepEffects& effects) {
  const PlannedFunction& blocked = moment.fault.functions.front();
  effects.stop = Stop::kHostHangs;
  effects.stop_phase = blocked.phase;
  effects.stop_function = blocked.function;
}

void Die(const FaultMoment&, StepEffects& effects) {
  effects.stop = Stop::kDies;
  effects.stop_phase = Phase::kForward;
}

void LoseTelemetry(const FaultMoment& moment, StepEffects& effects) {
  effects.telemetry_loss =
      std::max(effects.telemetry_loss, ToFactor(std::min(moment.fault.severity, 1.0)));
}

}  // namespace

FaultEffect FindHang(FaultKind kind) {
  switch (kind) {
    case FaultKind::kCollectiveMismatch: return EnterAnother;
    case FaultKind::kCommunicationHang: return StandStill;
    case FaultKind::kHostHang: return Block;
    case FaultKind::kRankDies: return Die;
    case FaultKind::kTelemetryLoss: return LoseTelemetry;
    default: return nullptr;
  }
}

}  // namespace eroica::simulate

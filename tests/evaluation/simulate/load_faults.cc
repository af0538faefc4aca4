#include "tests/evaluation/simulate/fault_effects.h"

namespace eroica::simulate {
namespace {

void MoreWork(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.work, moment.amount);
}
void OtherTokens(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.expert_work, moment.amount);
}

void OtherLengths(const FaultMoment& moment, StepEffects& effects) {
  moment.fault.lengths->MultiplyInto(moment.replica, moment.step, effects.micro_batches);
}

}  // namespace

FaultEffect FindLoadFault(FaultKind kind) {
  switch (kind) {
    case FaultKind::kSequenceImbalance:
    case FaultKind::kStageImbalance: return MoreWork;
    case FaultKind::kExpertImbalance: return OtherTokens;
    case FaultKind::kVaryingLengths: return OtherLengths;
    default: return nullptr;
  }
}

}  // namespace eroica::simulate

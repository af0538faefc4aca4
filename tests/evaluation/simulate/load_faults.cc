#include "tests/evaluation/simulate/fault_effects.h"

namespace eroica::simulate {
namespace {

void MoreWork(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.work, moment.amount);
}
void OtherTokens(const FaultMoment& moment, StepEffects& effects) {
  Multiply(effects.expert_work, moment.amount);
}

}  // namespace

FaultEffect FindLoadFault(FaultKind kind) {
  switch (kind) {
    case FaultKind::kSequenceImbalance:
    case FaultKind::kStageImbalance: return MoreWork;
    case FaultKind::kExpertImbalance: return OtherTokens;
    default: return nullptr;
  }
}

}  // namespace eroica::simulate

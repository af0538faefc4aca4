// What faults do to a rank in a step in which they show: one small function a kind, in a file a
// family.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "tests/evaluation/simulate/fault.h"
#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/healthy_step.h"
#include "tests/evaluation/simulate/micro_batch_lengths.h"
#include "tests/evaluation/simulate/roofline.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

struct PlannedFault;

struct FaultMoment {
  const PlannedFault& fault;
  Factor amount = kUnit;  // of the strike
  uint32_t stage = 0;     // of the rank
  uint32_t replica = 0;   // whose data it works on
  uint32_t rank = 0;
  uint32_t step = 0;
  uint64_t key = 0;  // of the fault, rank and step: what it draws
};
using FaultEffect = void (*)(const FaultMoment& moment, StepEffects& effects);

// A function that a fault runs on the training thread.
struct PlannedFunction {
  Phase phase = Phase::kData;
  uint32_t function = 0;
};

// A fault with what its effects need, made once.
struct PlannedFault {
  FaultKind kind = FaultKind::kGpuSlow;
  double severity = 0;
  uint32_t first_step = 0;
  uint32_t last_step = 0;
  double duty = 1;
  FaultShape shape;
  uint64_t key = 0;
  FaultEffect effect = nullptr;
  Roofline roofline;                    // of the job's devices
  double slot_over_nic = 1;             // of its fabric
  int64_t duration_ns = 0;              // the severity's share of a healthy step
  std::vector<int64_t> mean_kernel_ns;  // by stage
  std::vector<PlannedFunction> functions;
  std::vector<PathEffect> paths;
  std::shared_ptr<const MicroBatchLengths> lengths;  // of varying_lengths
};

// The fault's effect on ranks. Faults of paths have none: it does nothing.
FaultEffect EffectOf(FaultKind kind);
// By family; nullptr where the kind is of another.
FaultEffect FindDeviceFault(FaultKind kind);
FaultEffect FindNetworkFault(FaultKind kind);
FaultEffect FindThreadFault(FaultKind kind);  // families host and code
FaultEffect FindLoadFault(FaultKind kind);
FaultEffect FindHang(FaultKind kind);  // and lost telemetry

// What the fault runs on the training thread, added to the catalog.
std::vector<PlannedFunction> FunctionsOf(const Fault& fault, FunctionCatalog& catalog);

inline void Multiply(Factor& factor, Factor by) {
  factor = static_cast<Factor>(
      std::min((uint64_t{factor} * by) >> 16, uint64_t{std::numeric_limits<Factor>::max()}));
}
// Of full speed. A link that moves nothing would take forever: who wants that stops the rank
// (Stop::kTransferHangs).
inline double ShareLeft(Factor factor) {
  return static_cast<double>(std::max(factor, Factor{1})) / kUnit;
}
// Speed where a duration is multiplied, and back.
constexpr Factor Inverse(Factor factor) {
  return static_cast<Factor>((uint64_t{kUnit} << 16) / (factor == 0 ? 1 : factor));
}

}  // namespace eroica::simulate

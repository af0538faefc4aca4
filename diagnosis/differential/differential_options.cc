#include "diagnosis/differential/differential_options.h"

namespace eroica {

const ExpectationRange& DifferentialOptions::RangeOf(FunctionClass function_class, WaitKind wait,
                                                     bool host_only) const {
  if (wait == WaitKind::kPeer) return collective;
  switch (function_class) {
    case FunctionClass::kGpuCompute: return gpu_compute;
    case FunctionClass::kMemoryOp: return memory_op;
    case FunctionClass::kCollective: return collective;
    case FunctionClass::kPython: return python;
    case FunctionClass::kCpuOp:
      return host_only ? gpu_compute : cpu_op;  // CPU operators take the place of kernels there
  }
  return gpu_compute;
}

}  // namespace eroica

// Whether a rank's work is seen on a device. Where kernels are not recorded, everything else looks
// as if the device idled meanwhile.
#pragma once

#include <algorithm>

#include "schemas/pattern_batch.h"

namespace eroica {

inline bool IsKernel(const FunctionPattern& pattern) {
  return pattern.function_class == FunctionClass::kGpuCompute;
}

inline bool ComputesOnDevice(const PatternBatch& batch) {
  return !batch.host_only && std::ranges::any_of(batch.patterns, IsKernel);
}

}  // namespace eroica

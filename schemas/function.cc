#include "schemas/function.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace eroica {

std::string_view ToString(FunctionClass function_class) {
  switch (function_class) {
    case FunctionClass::kGpuCompute: return "gpu_compute";
    case FunctionClass::kMemoryOp: return "memory_op";
    case FunctionClass::kCollective: return "collective";
    case FunctionClass::kPython: return "python";
    case FunctionClass::kCpuOp: return "cpu_op";
  }
  return "unknown";
}

std::string_view ToString(WaitKind wait) {
  switch (wait) {
    case WaitKind::kNone: return "none";
    case WaitKind::kPeer: return "peer";
    case WaitKind::kOther: return "other";
  }
  return "unknown";
}

FunctionId HashFunction(FunctionClass function_class, std::string_view name, FunctionId parent) {
  const uint64_t seed = parent.value * 8 + static_cast<uint64_t>(function_class) + 1;
  return FunctionId{XXH3_64bits_withSeed(name.data(), name.size(), seed)};
}

}  // namespace eroica

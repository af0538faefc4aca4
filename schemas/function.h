// A function is anything that runs over an interval on a rank: a kernel, a memory operation, a
// collective, a Python call stack, a CPU operator.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "schemas/ids.h"

namespace eroica {

// Priority on the critical path, highest first (EROICA, NSDI'26, section 4.1). On a rank without a
// device (host_only) CPU operators take the place of kernels, see CriticalPathPriority.
enum class FunctionClass : uint8_t {
  kGpuCompute = 0,
  kMemoryOp = 1,
  kCollective = 2,
  kPython = 3,
  kCpuOp = 4
};
inline constexpr int kFunctionClassCount = 5;

// A host function that only waits. kPeer: for other ranks, a symptom and never a cause. kOther: for
// anything else, where to look further.
enum class WaitKind : uint8_t { kNone = 0, kPeer = 1, kOther = 2 };
inline constexpr int kWaitKindCount = 3;

// 0 is the most important. Classes on the critical path at a moment: those running whose priority
// no running class beats.
constexpr int CriticalPathPriority(FunctionClass function_class, bool host_only) {
  if (!host_only) return static_cast<int>(function_class);
  return function_class == FunctionClass::kCpuOp ? 0 : 1 + static_cast<int>(function_class);
}

std::string_view ToString(FunctionClass function_class);
std::string_view ToString(WaitKind wait);

inline constexpr uint32_t kNoParent = std::numeric_limits<uint32_t>::max();
inline constexpr std::string_view kStackSeparator = " > ";

// One row of a batch's function table. A Python stack is a chain of rows: each row holds its own
// frame and the index of its caller.
struct FunctionDef {
  std::string name;
  FunctionClass function_class = FunctionClass::kCpuOp;
  WaitKind wait = WaitKind::kNone;
  uint32_t parent = kNoParent;  // always smaller than the row's own index

  friend bool operator==(const FunctionDef&, const FunctionDef&) = default;
};

// Identity of a function across ranks, batches and hosts: class, name and the identity of the
// caller (FunctionId{0} where there is none).
FunctionId HashFunction(FunctionClass function_class, std::string_view name, FunctionId parent);

}  // namespace eroica

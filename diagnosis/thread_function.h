// What a rank's training thread runs, as opposed to its device and its connections.
#pragma once

#include "schemas/function.h"

namespace eroica {

inline bool RunsOnThread(FunctionClass function_class) {
  return function_class == FunctionClass::kPython || function_class == FunctionClass::kCpuOp;
}

}  // namespace eroica

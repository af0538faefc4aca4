// What a rank's training thread runs, as opposed to its device and its connections.
#pragma once

#include <string_view>

#include "schemas/function.h"

namespace eroica {

inline bool RunsOnThread(FunctionClass function_class) {
  return function_class == FunctionClass::kPython || function_class == FunctionClass::kCpuOp;
}

// What live producers call the time in which the thread could have run and was not let: producers/host
// (run queue) and producers/python (the interpreter's lock). The name goes on with who had it instead.
inline bool IsStarvation(std::string_view function) {
  return function.starts_with("(runnable, waiting for a processor") || function.starts_with("(waiting for the GIL");
}

}  // namespace eroica

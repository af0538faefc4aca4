// Code that hands data to communicators: neither a layer's work nor a wait that is known as such.
#pragma once

#include <string_view>

#include "diagnosis/measurements/stack_frames.h"
#include "schemas/pattern_batch.h"

namespace eroica {

// Operators of PyTorch ("c10d::recv_", "_c10d_functional::all_reduce"): over gloo they wait for the
// lock of a connection that carries another operation. And what torch.distributed's own code runs
// (schedules of pipelines, sharding), or built-in functions that it calls.
inline bool IsCommunicationCall(const FunctionPattern& pattern) {
  const std::string_view name = pattern.name;
  if (name.starts_with("c10d::") || name.starts_with("_c10d_functional::") ||
      name == "record_param_comms")
    return true;
  if (pattern.function_class != FunctionClass::kPython) return false;
  std::string_view source = name;
  if (IsBuiltin(name)) {
    const size_t separator = pattern.stack.rfind(kStackSeparator);
    source = pattern.stack;
    if (separator != std::string::npos) source.remove_prefix(separator + kStackSeparator.size());
  }
  return source.find("torch/distributed/") != std::string_view::npos;
}

}  // namespace eroica

// The frames of a function's call stack, outermost first, its own name last.
#pragma once

#include <string_view>
#include <vector>

#include "schemas/pattern_batch.h"

namespace eroica {

inline std::vector<std::string_view> FramesOf(const FunctionPattern& pattern) {
  std::vector<std::string_view> frames;
  std::string_view rest = pattern.stack;
  while (!rest.empty()) {
    const size_t end = rest.find(kStackSeparator);
    frames.push_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{}
                                         : rest.substr(end + kStackSeparator.size());
  }
  frames.push_back(pattern.name);
  return frames;
}

// A call of Python as profilers and samplers name it ("train.py(53): forward",
// "nn.Module: Linear_0", "<built-in function sleep>"), as against a stretch that the script or the
// framework has annotated ("DistributedDataParallel.forward"), of which nobody knows what ran in
// it.
inline bool IsPythonCall(std::string_view frame) {
  return frame.find(": ") != std::string_view::npos || frame.starts_with("<built-in");
}

// CPython shows what C code it calls as "<built-in ...>": true, but no place in anybody's source.
inline bool IsBuiltin(std::string_view frame) { return frame.starts_with("<built-in"); }

}  // namespace eroica

// Python frames as text: how a frame is named, so that it has one name on all ranks and in all
// sources (PyTorch's profiler, our sampler), and whether a frame of that name only waits. Pure;
// names as decoded text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "schemas/function.h"

namespace eroica {

// "torch/nn/modules/module.py(1791): _call_impl": the file from below the longest folder of
// sys.path that it lies in, or without folders where it lies in none; line: of the function's
// definition.
std::string PythonFrameName(std::string_view file, int line, std::string_view function,
                            std::span<const std::string_view> search_path);

// Frames of the interpreter's own start and of its import system: they say nothing of a training
// job.
bool IsBootstrapFrame(std::string_view file);

// Whether a frame only waits, and for what. Sleeping is no wait: it is what the function that
// sleeps wanted to do.
WaitKind WaitOfPythonFrame(std::string_view name);

// "<built-in method append of list object at 0x7f..>" without the address, which differs on every
// rank.
std::string StripAddress(std::string name);

}  // namespace eroica

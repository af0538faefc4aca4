// Where a training thread compiles (torch.compile) instead of training: as the Python producer
// names it, and as sampled stacks show it.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace eroica {

// What producers/python/eroica/torch_compile.py calls a compilation.
inline constexpr std::string_view kCompiling = "(compiling, torch.compile)";

// Whether the frames (a name, or a stack) hold one of TorchDynamo's or TorchInductor's compilers.
// What compiled code itself runs lies in other files of theirs.
inline bool IsInCompiler(std::string_view frames) {
  static constexpr std::array<std::string_view, 6> kParts = {
      "torch/_dynamo/convert_frame.py", "torch/_dynamo/symbolic_convert.py",
      "torch/_dynamo/output_graph.py",  "torch/_inductor/compile_fx.py",
      "torch/_inductor/graph.py",       "torch/_inductor/async_compile.py"};
  return frames.find(kCompiling) != std::string_view::npos ||
         std::any_of(kParts.begin(), kParts.end(), [frames](std::string_view part) {
           return frames.find(part) != std::string_view::npos;
         });
}

}  // namespace eroica

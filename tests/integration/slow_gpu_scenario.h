// The simulated job of the tests that send one through a broker.
#pragma once

#include <string>

#include "ops/cli/program_run.h"

namespace eroica {

// Two pipeline stages of 32 data-parallel ranks on eight hosts.
inline constexpr char kSlowGpuScenario[] = R"(family = "gpu slow"
about = "A slow GPU among 64."
steps = 24
[layout]
data = 32
pipeline = 2
[workload]
layers = 4
micro_batches = 2
[[fault]]
kind = "gpu_slow"
ranks = 21
severity = 0.3
[[expect]]
kinds = ["slow_rank"]
ranks = 21
)";

// The path of the file.
inline std::string WriteSlowGpuScenario(const ScratchDirectory& folder) {
  const std::string path = folder.path() + "/slow_gpu.toml";
  WriteBytes(path, kSlowGpuScenario);
  return path;
}

}  // namespace eroica

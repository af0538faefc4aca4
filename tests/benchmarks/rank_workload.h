// What one rank of a data-parallel transformer job does, as EventBatches: nested Python stacks, CPU
// operators, kernels on a compute stream, copies, a reduce-scatter and an all-gather for each layer
// on a stream of their own, a backward pass on another thread. Deterministic. For benchmarks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/event_batch.h"

namespace eroica {

struct WorkloadOptions {
  std::string job = "benchmark";
  uint32_t rank = 0;
  uint32_t world_size = 64;
  int steps = 20;
  int layers = 48;
  bool host_only = false;  // no kernels and copies; CPU operators do the work
  size_t intervals_per_batch = 8192;
  uint32_t window_steps = 10;
  bool samples = false;  // a resource sample each 100 us for SM, NIC and CPU
};

// In order of sequence, times ascending; the last is final.
std::vector<EventBatch> MakeRankWorkload(const WorkloadOptions& options);

}  // namespace eroica

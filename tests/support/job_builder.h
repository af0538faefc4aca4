// Makes small training jobs with known faults: data-parallel ranks that run kernels, wait for each
// other in their collectives exactly as long as the others make them, load data and run Python in
// between. Deterministic: equal options give equal batches. Times are those of each rank's own,
// skewed clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/event_batch.h"

namespace eroica::testing {

enum class JobFault {
  kNone,
  kSlowKernel,       // the rank's matrix kernels take `factor` times as long
  kSlowPython,       // the rank spends `factor` step times in kSlowFunction, every step
  kSlowPythonOften,  // the same, but only in every second step
  kSlowNetwork,      // every collective's transfer takes `factor` times as long, on all ranks
  kDataImbalance,    // the work of a rank grows with its number, up to `factor` times
};

inline constexpr char kSlowFunction[] = "dataset.py: read_record_from_slow_storage";
inline constexpr char kMatrixKernel[] = "sm90_gemm_bf16_128x128";

struct JobOptions {
  std::string job = "job";
  uint32_t ranks = 4;
  int steps = 12;
  uint32_t window_steps = 4;
  int layers = 6;
  size_t batch_events = 64;
  JobFault fault = JobFault::kNone;
  uint32_t culprit = 1;
  double factor = 1.5;
  uint64_t seed = 1;
  // How often the job was started before under its name: a minute apart, with steps from 0 again.
  uint32_t run = 0;
  // Containers that are started again: each run's processes have the numbers of those before.
  bool same_pids = false;
  bool killed = false;  // its ranks say no last words
};

// By rank, then by sequence.
std::vector<EventBatch> BuildJob(const JobOptions& options);

}  // namespace eroica::testing

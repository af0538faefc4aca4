// A training process as NCCL's threads see it: per communicator a thread that creates it, launches
// kernels of several operations each and destroys it, and a proxy thread that tells of the kernels'
// channels and of the network. Runs over any harness; every thread has ended when PlayJob returns.
#pragma once

#include <cstdint>

#include "producers/nccl/testing/nccl_harness.h"

namespace eroica::nccl {

struct HarnessJob {
  int communicators = 3;
  int kernels = 100;  // a communicator
  int operations_of_a_kernel = 3;
  uint8_t channels = 4;  // an operation
  bool network = false;  // proxy operations with steps beside the kernel channels
  // NCCL finalizes while its proxy thread still has channels to stop.
  bool finalize_early = false;
};

// Returns how many operations got a handle.
uint64_t PlayJob(NcclHarness* harness, const HarnessJob& job);

}  // namespace eroica::nccl

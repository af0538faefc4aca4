// A stretch of a job: what one set of processes runs. A job that changes its size stops all of
// them, and starts others with the layout that is new: the same job, its steps counted on, with
// ranks, communicators and process numbers of their own (torchelastic's restart of the worker
// group).
#pragma once

#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/simulated_job.h"

namespace eroica::simulate {

struct JobStretch {
  uint32_t number = 0;  // 0: the job's first processes
  uint32_t first_step = 0;
  uint32_t end_step = 0;  // not included
  int64_t pause_ns = 0;   // before its first step
  // ranks from this one on are gone when it is over, and say so with their last batch; the others
  // are silent until the next one
  uint32_t leaves_from = 0;
  ParallelLayout layout;
};

// At least one, in order. Requires Check(job).ok().
std::vector<JobStretch> StretchesOf(const SimulatedJob& job);

}  // namespace eroica::simulate

// How long a step of the job takes where nothing is wrong, communication included, estimated from
// its programs: what severities of the host's faults are shares of.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/parallel_layout.h"
#include "tests/evaluation/simulate/rank_program.h"
#include "tests/evaluation/simulate/simulated_job.h"

namespace eroica::simulate {

// The job must outlive it. Not for many threads at once.
class HealthyStep {
 public:
  // Requires Check(job).ok(). Adds the functions of the job's programs to the catalog.
  HealthyStep(const SimulatedJob& job, FunctionCatalog& catalog);

  // The ideal step (ideal_step.h), and the communication that a stage alone could not hide behind
  // its kernels.
  int64_t step_ns() const { return step_ns_; }
  // Of one kernel of the pipeline stage.
  int64_t mean_kernel_ns(uint32_t stage) const { return mean_kernel_ns_[stage]; }
  // A rank of the stage alone, with peers that are always there, whose training thread takes
  // `slower` times as long for everything.
  int64_t AloneNs(uint32_t stage, double slower) const;
  // How many times as long the training thread must take for the step of a rank alone to get longer
  // by the share. 1 where it is 0.
  double ThreadFactor(uint32_t stage, double longer) const;

 private:
  const SimulatedJob& job_;
  GroupTable groups_;
  std::vector<RankProgram> programs_;
  std::vector<int64_t> mean_kernel_ns_;
  int64_t step_ns_ = 0;
};

}  // namespace eroica::simulate

// Runs a simulated job and reports what its producers would have reported. Start here.
//
// Waiting is real. Each rank has a training thread, a compute stream and one stream a communicator,
// each with its own time. A rank runs its program until it needs the end of a collective that not
// all members have joined; then it rests, and the last member to join wakes it. A collective moves
// from its last arrival on and ends for all when its slowest link is done (transfer.h). No queue of
// events over all ranks is needed: times only ever grow out of earlier ones (max-plus), so any
// order gives the same. A job that hangs is one in which all ranks rest: their producers then
// report what is in flight. Memory: a few hundred bytes and one step's events for each rank. One
// thread. Deterministic for a job and seed on every machine.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "producers/core/batch_sink.h"
#include "tests/evaluation/simulate/simulated_job.h"

namespace eroica::simulate {

// Called after every step of the whole job, with the true time that the job has run.
using SimulationProgress = std::function<absl::Status(uint32_t steps_done, int64_t job_time_ns)>;

struct SimulationReport {
  uint64_t events = 0;  // intervals, samples and marks given to the sink
  uint64_t lost = 0;    // reported as lost instead
  uint32_t steps = 0;   // that all ranks finished
  bool hangs = false;
  int64_t job_ns = 0;  // true time that the job ran, rests between its processes included
  // true duration of each step: between the latest ends of two steps over all ranks
  std::vector<int64_t> step_ns;
};

// Batches of a rank come in order; ranks and steps are interleaved as a job would: all of a step
// before the next. Fails where the job is impossible (Check), where the sink or progress fails.
absl::StatusOr<SimulationReport> Simulate(const SimulatedJob& job, BatchSink& sink,
                                          const SimulationProgress& progress = nullptr);

}  // namespace eroica::simulate

// How summarize cuts and closes windows. The options' ranges are checked where they are declared
// (ops/config).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "stream_ops/job_ages.h"
#include "stream_ops/memory_pool.h"

namespace eroica {

struct SummarizeOptions {
  // Windows of time, for producers that count no steps (ProducerIdentity::window_steps is 0). The
  // same on all nodes.
  int64_t window_ns = int64_t{10} * 1'000'000'000;
  // A rank's watermark is its latest event less this. What comes later than that for a closed
  // window is counted and dropped.
  int64_t out_of_orderness_ns = int64_t{5} * 1'000'000'000;
  // Of ranks with work on a device as much more: what a device did is known later than what its
  // host did.
  int64_t device_lateness_ns = 0;
  // Functions that are critical for less than this share of the window are folded in what goes to
  // diagnose. Collectives never are, nor kernels that work on parameters, nor calls of the device's
  // runtime that run for as long.
  double fold_below = 0.005;
  JobRetention jobs;
  // Of the stage on this node: events that wait for their windows. Beyond, the rank that holds the
  // most closes its windows with what is there; what still comes for them is late. Without one
  // there is no bound.
  std::shared_ptr<MemoryPool> memory{};
  // In ns since the epoch; batches that are far ahead of it are dead letters. Where the log says
  // when a record arrived, that is the time, so that a restart decides as before. Without a clock
  // (jobs of the past, and at the edge) no time is too late.
  std::function<int64_t()> wall_clock_ns;
};

}  // namespace eroica

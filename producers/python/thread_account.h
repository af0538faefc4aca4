// What the kernel says of one thread of this process, without touching it: what it does at this
// moment, and what it has used of processors. Its files belong to that very thread: where it has
// ended and another one has its number, they say that it has ended. Owner: one thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>

#include "producers/python/gil_probe.h"
#include "producers/python/run_times.h"

namespace eroica {

class ThreadAccount {
 public:
  explicit ThreadAccount(int thread);

  int thread() const { return thread_; }
  ThreadState State() const;
  // Nothing where the kernel does not count.
  std::optional<RunTimes> Times() const { return times_.Read(); }
  // What it has run and waited for a processor; likewise.
  std::optional<int64_t> ActiveNs() const;
  // What it has used of processors; 0 where it cannot be read.
  int64_t CpuNs() const;

 private:
  int thread_;
  GilProbe probe_;
  RunTimesFile times_;
  clockid_t clock_;
};

}  // namespace eroica

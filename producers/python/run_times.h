// What the kernel has counted of a thread of this process: its processor clock, and the waits of
// /proc/self/task/TID/schedstat. What that file says of processors lags by up to a tick of the
// kernel (4 ms) behind a thread that runs. Owner: one thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>

namespace eroica {

struct RunTimes {
  int64_t on_processor_ns = 0;
  int64_t runnable_ns = 0;  // waited for a processor
};

// The clock of what a thread of this process has used of processors.
clockid_t ProcessorClockOf(int thread_id);

class RunTimesFile {
 public:
  explicit RunTimesFile(int thread_id);
  ~RunTimesFile();
  RunTimesFile(const RunTimesFile&) = delete;
  RunTimesFile& operator=(const RunTimesFile&) = delete;

  // Nothing where the kernel does not count, or the thread has ended.
  std::optional<RunTimes> Read() const;

 private:
  clockid_t clock_;
  int file_ = -1;
};

}  // namespace eroica

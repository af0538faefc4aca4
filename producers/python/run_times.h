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

// What had been counted some time before the thread read it itself. A thread that reads takes a few
// microseconds: the rest of that time it waited, since the kernel takes a processor away where a
// thread enters it, and with the reading of its counts one does. before: an earlier reading.
RunTimes CountedBefore(const RunTimes& read, int64_t ago_ns, const std::optional<RunTimes>& before);

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

// What the kernel has counted of a thread of this process (/proc/self/task/TID/schedstat). Owner:
// one thread.
#pragma once

#include <cstdint>
#include <optional>

namespace eroica {

struct RunTimes {
  int64_t on_processor_ns = 0;
  int64_t runnable_ns = 0;  // waited for a processor
};

class RunTimesFile {
 public:
  explicit RunTimesFile(int thread_id);
  ~RunTimesFile();
  RunTimesFile(const RunTimesFile&) = delete;
  RunTimesFile& operator=(const RunTimesFile&) = delete;

  // Nothing where the kernel does not count, or the thread has ended.
  std::optional<RunTimes> Read() const;

 private:
  int file_ = -1;
};

}  // namespace eroica

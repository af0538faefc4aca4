// How many processes the kernel has ended for memory in the control group of a process (cgroup v2,
// memory.events), or, where that is not to be read, on the host (/proc/vmstat).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace eroica {

class OutOfMemoryCount {
 public:
  explicit OutOfMemoryCount(pid_t pid);

  // Since this was made.
  bool HasGrown() const { return Read() > before_; }

 private:
  uint64_t Read() const;

  std::string path_;
  uint64_t before_ = 0;
};

}  // namespace eroica

// What the operating system says of this process, under the names that Prometheus' client libraries
// give it. Any thread.
#pragma once

#include <cstdint>

namespace eroica {

// 0 where the system does not tell.
struct ProcessMeasures {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t open_fds = 0;
  uint64_t max_fds = 0;
};

ProcessMeasures MeasureProcess();

}  // namespace eroica

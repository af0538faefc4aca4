// How long the busiest connection of a rank carried data: while ranks wait for one that is late
// their connections carry nothing, and while a slow link holds them up one of them does.
#pragma once

#include <algorithm>
#include <cstdint>

#include "schemas/pattern_batch.h"

namespace eroica {

// In the window. 0 where no connections are reported.
inline int64_t BusiestConnectionNs(const PatternBatch& batch) {
  int64_t busiest_ns = 0;
  for (const ConnectionPattern& connection : batch.connections)
    busiest_ns = std::max(busiest_ns, connection.busy_ns);
  return busiest_ns;
}

}  // namespace eroica

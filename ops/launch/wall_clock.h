// Time of day, in nanoseconds since 1970: that of the kernel's accounts and of the ranks' notes.
#pragma once

#include <chrono>
#include <cstdint>

namespace eroica {

inline int64_t WallClockNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace eroica

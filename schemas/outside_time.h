// Times that come from outside, of files and of records, in nanoseconds. They may hold anything,
// also what nanoseconds in 64 bits cannot (the years after 2262): these are bounded to
// 0 .. CodecLimits::kMaxTimeNs, so that the difference of any two fits as well.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>

#include "schemas/codec.h"
#include "schemas/time_unit.h"

namespace eroica {

constexpr int64_t BoundedNsOfMs(int64_t ms) {
  return std::clamp<int64_t>(ms, 0, CodecLimits::kMaxTimeNs / kNsPerMs) * kNsPerMs;
}

// When the file was last written. status: as stat(2) filled it.
inline int64_t ModifiedNs(const struct stat& status) {
  constexpr int64_t kMostSeconds = CodecLimits::kMaxTimeNs / kNsPerSecond - 1;
  const auto seconds = static_cast<int64_t>(status.st_mtim.tv_sec);
  if (seconds < 0) return 0;
  if (seconds > kMostSeconds) return CodecLimits::kMaxTimeNs;
  return seconds * kNsPerSecond + static_cast<int64_t>(status.st_mtim.tv_nsec);
}

}  // namespace eroica

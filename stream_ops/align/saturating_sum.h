// Sums of what comes from outside: a payload may name durations of up to 2^62 ns. A sum of them
// stops at what a payload may say, instead of overflowing.
#pragma once

#include <cstdint>
#include <limits>

#include "schemas/codec.h"

namespace eroica {

// Both are between 0 and CodecLimits::kMaxTimeNs, before and after.
inline void AddSaturating(int64_t value, int64_t* sum) {
  *sum = value > CodecLimits::kMaxTimeNs - *sum ? CodecLimits::kMaxTimeNs : *sum + value;
}

// The number behind a collective's, which may be the last one there is.
constexpr uint64_t NextSaturating(uint64_t sequence) {
  return sequence == std::numeric_limits<uint64_t>::max() ? sequence : sequence + 1;
}

}  // namespace eroica

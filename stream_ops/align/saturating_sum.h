// Sums of times from outside: a payload may name durations of up to 2^62 ns. A sum of them stops at
// what a payload may say, instead of overflowing.
#pragma once

#include <cstdint>

#include "schemas/codec.h"

namespace eroica {

// Both are between 0 and CodecLimits::kMaxTimeNs, before and after.
inline void AddSaturating(int64_t value, int64_t* sum) {
  *sum = value > CodecLimits::kMaxTimeNs - *sum ? CodecLimits::kMaxTimeNs : *sum + value;
}

}  // namespace eroica

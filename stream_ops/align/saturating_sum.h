// Sums of times from outside: a payload may name durations of up to 2^62 ns, and a sum of them stops at the largest number instead of overflowing.
#pragma once

#include <cstdint>
#include <limits>

namespace eroica {

// value is not negative.
inline void AddSaturating(int64_t value, int64_t* sum) {
  if (__builtin_add_overflow(*sum, value, sum)) *sum = std::numeric_limits<int64_t>::max();
}

}  // namespace eroica

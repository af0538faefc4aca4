// What a sweep adds up for one function: exact integers, so that the order of the intervals cannot
// show in the result. One cache line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "stream_ops/pattern/interval.h"

namespace eroica {

struct alignas(64) FunctionTotals {
  // In the sum of squares a longer interval counts as this long (39 hours): 2^34 of them fit 128
  // bits.
  static constexpr int64_t kLongestSquaredNs = int64_t{1} << 47;
  __extension__ typedef unsigned __int128 Wide;

  int64_t critical_ns = 0;
  int64_t total_ns = 0;  // saturates
  Wide square_sum = 0;
  int64_t min_ns = std::numeric_limits<int64_t>::max();
  int64_t max_ns = 0;
  uint32_t count = 0;
  uint32_t step_mark = 0;  // 1 + the newest step that StepActivity has noted for it
  // a moment in which it runs twice on the device is one critical moment
  int64_t covered_until_ns = 0;

  void Count(int64_t duration_ns) {
    ++count;
    total_ns = duration_ns > kEndOfTimeNs - total_ns ? kEndOfTimeNs : total_ns + duration_ns;
    const auto bounded = static_cast<uint64_t>(std::min(duration_ns, kLongestSquaredNs));
    square_sum += static_cast<Wide>(bounded) * bounded;
    min_ns = std::min(min_ns, duration_ns);
    max_ns = std::max(max_ns, duration_ns);
  }
  double mean_ns() const { return count == 0 ? 0.0 : static_cast<double>(total_ns) / count; }
  // Welford's M2, the sum of squared deviations from the mean, without its rounding: with q the
  // mean rounded down, the sum of squared deviations from q is an integer.
  double m2() const {
    if (count == 0 || max_ns > kLongestSquaredNs || total_ns == kEndOfTimeNs) return 0.0;
    const auto total = static_cast<uint64_t>(total_ns);
    const uint64_t q = total / count;
    const uint64_t rest = total % count;
    const Wide from_q =
        square_sum + static_cast<Wide>(q) * q * count - static_cast<Wide>(q) * total * 2;
    return static_cast<double>(from_q) -
           static_cast<double>(rest) * static_cast<double>(rest) / count;
  }
};

}  // namespace eroica

#include "producers/python/trace_pace.h"

#include <algorithm>

namespace eroica {

bool TracePace::Keeps(int64_t start_ns, int64_t end_ns, uint32_t room) {
  if (end_ns - period_begin_ns_ >= kPeriodNs) {
    // Half as many as may be: there is room for calls of half that length.
    if (kept_ < kMostPerPeriod / 2) shortest_ns_ /= 2;
    if (shortest_ns_ < kFirstShortestNs) shortest_ns_ = 0;
    period_begin_ns_ = end_ns;
    kept_ = 0;
  }
  const int64_t duration_ns = end_ns - start_ns;
  if (duration_ns < shortest_ns_) return false;
  if (room < kLeastRoom && duration_ns < kLongNs) return false;
  if (++kept_ >= kMostPerPeriod) {
    shortest_ns_ = std::max(2 * shortest_ns_, kFirstShortestNs);
    kept_ = 0;
  }
  return true;
}

}  // namespace eroica

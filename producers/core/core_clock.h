// The clock of the core's events: the wall clock as it was when the core started, advanced by
// CLOCK_MONOTONIC. A wall clock that is set, slewed or jumps moves no event. Thread-safe; no call
// allocates or locks.
#pragma once

#include <cstdint>
#include <ctime>

#include "schemas/event_batch.h"

namespace eroica {

class CoreClock {
 public:
  CoreClock() : offset_ns_(Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC)) {}

  int64_t NowNs() const { return FromMonotonic(Read(CLOCK_MONOTONIC)); }
  // Both saturate: a time beyond the range of int64_t becomes its last value, or its first.
  int64_t FromMonotonic(int64_t monotonic_ns) const { return Shifted(monotonic_ns, offset_ns_); }
  // As the wall clock stands now: what was stamped before it was set is off by as much as it was
  // set.
  int64_t FromRealtime(int64_t realtime_ns) const {
    return Shifted(realtime_ns, offset_ns_ - (Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC)));
  }
  ClockSnapshot Snapshot() const {
    return {
        .realtime_ns = Read(CLOCK_REALTIME), .monotonic_ns = Read(CLOCK_MONOTONIC), .device_ns = 0};
  }

 private:
  static int64_t Shifted(int64_t time_ns, int64_t by_ns) {
    int64_t shifted_ns = 0;
    if (!__builtin_add_overflow(time_ns, by_ns, &shifted_ns)) return shifted_ns;
    return by_ns < 0 ? INT64_MIN : INT64_MAX;
  }
  static int64_t Read(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

  const int64_t offset_ns_;
};

}  // namespace eroica

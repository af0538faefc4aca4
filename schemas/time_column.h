// Columns of times on the wire: differences to the previous time, in units of time_unit_ns, and
// back.
#pragma once

#include <cstdint>
#include <span>

#include "schemas/drop_reason.h"

namespace eroica {

// Sums deltas up to times, in place. kTimeOutOfRange: the unit is 0, or a time is negative or
// beyond CodecLimits::kMaxTimeNs.
DropReason SumTimes(int64_t base_ns, uint32_t unit_ns, std::span<uint64_t> deltas);

// Scales durations to nanoseconds, in place. kTimeOutOfRange: the unit is 0, or one is beyond
// CodecLimits::kMaxTimeNs.
DropReason ScaleDurations(uint32_t unit_ns, std::span<uint64_t> durations);

}  // namespace eroica

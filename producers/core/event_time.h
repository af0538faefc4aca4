// Which stamps of a host's events are times. What producers are given is not checked by them: a
// broken stamp counts its event as malformed, and nothing is reckoned with it.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/codec.h"

namespace eroica {

// No event lasts longer: a stamp that makes it so is broken.
inline constexpr int64_t kLongestEventNs = int64_t{31} * 24 * 3600 * 1'000'000'000;

constexpr bool IsEventTime(int64_t time_ns) {
  return time_ns > 0 && time_ns < CodecLimits::kMaxTimeNs - kLongestEventNs;
}

// From one stamp to the next; nothing where one of them is broken or they are out of order.
constexpr std::optional<int64_t> EventDurationNs(int64_t begin_ns, int64_t end_ns) {
  if (!IsEventTime(begin_ns) || !IsEventTime(end_ns)) return std::nullopt;
  if (end_ns < begin_ns || end_ns - begin_ns > kLongestEventNs) return std::nullopt;
  return end_ns - begin_ns;
}

}  // namespace eroica

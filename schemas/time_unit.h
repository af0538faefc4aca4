// How many of one unit of time another has: nanoseconds, the unit of every time and duration in
// here, of those that people and Kafka use.
#pragma once

#include <cstdint>

namespace eroica {

inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;
inline constexpr int64_t kMinutesPerHour = 60;

}  // namespace eroica

// Nanoseconds, the unit of every time and duration in here, per unit of those that people and
// Kafka use.
#pragma once

#include <cstdint>

namespace eroica {

inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;

}  // namespace eroica

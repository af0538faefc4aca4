// What the states of all tables' slots share: whether the slot is live, at the bottom, and how
// often it has been used, in the upper half, so that a handle that outlives what it named is
// recognized.
#pragma once

#include <cstdint>

namespace eroica::nccl {

inline constexpr uint64_t kLive = 1;
inline constexpr int kGenerationShift = 32;

// The state of the slot when it is free again. Generations begin at 1: no handle is 0.
inline uint64_t NextGeneration(uint64_t state) {
  const auto next = static_cast<uint32_t>((state >> kGenerationShift) + 1);
  return static_cast<uint64_t>(next == 0 ? 1 : next) << kGenerationShift;
}

}  // namespace eroica::nccl

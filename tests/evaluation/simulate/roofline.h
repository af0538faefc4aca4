// What bounds a kernel: the device's clock, its memory, or the bus that a copy takes (Williams et
// al., CACM'09). The memory bounds a share of a kernel's time; the clock bounds the rest.
#pragma once

#include <array>

#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

class Roofline {
 public:
  explicit Roofline(const Hardware& hardware);

  // By what a kernel's duration is multiplied where what the clock bounds takes `longer` times as
  // long.
  Factor UnderClock(KernelKind kind, Factor longer) const {
    return InPart(clock_share_[static_cast<size_t>(kind)], longer);
  }
  // The same where what the memory bounds does.
  Factor UnderMemory(KernelKind kind, Factor longer) const {
    return InPart(memory_share_[static_cast<size_t>(kind)], longer);
  }
  // Of its time, what the clock bounds.
  Factor ClockShare(KernelKind kind) const { return clock_share_[static_cast<size_t>(kind)]; }
  // By what the memory's use is multiplied while the kernel runs: as many bytes in a longer time.
  // clock: of the device, in shares of its usual one; memory: as for UnderMemory.
  Factor MemoryLevel(KernelKind kind, Factor clock, Factor memory) const;

 private:
  // A share of the duration is multiplied, the rest stays.
  static constexpr Factor InPart(Factor share, Factor longer) {
    const int64_t more = int64_t{longer} - int64_t{kUnit};
    return static_cast<Factor>(int64_t{kUnit} + (more * int64_t{share} >> 16));
  }

  std::array<Factor, kKernelKindCount> clock_share_ = {};
  std::array<Factor, kKernelKindCount> memory_share_ = {};
};

}  // namespace eroica::simulate

#include "diagnosis/differential/instruction_set.h"

#include <array>
#include <cstddef>

namespace eroica {

InstructionSet BestInstructionSet() {
#if defined(__x86_64__)
  static const InstructionSet best = [] {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      return InstructionSet::kAvx512;
    }
    return __builtin_cpu_supports("avx2") ? InstructionSet::kAvx2 : InstructionSet::kPortable;
  }();
  return best;
#else
  return InstructionSet::kPortable;
#endif
}

std::span<const InstructionSet> AvailableInstructionSets() {
  static constexpr std::array kAll = {InstructionSet::kPortable, InstructionSet::kAvx2,
                                      InstructionSet::kAvx512};
  return std::span(kAll).first(static_cast<size_t>(BestInstructionSet()) + 1);
}

}  // namespace eroica

// What inner loops are compiled for; all versions of one give the same result. The caller must not
// ask for more than the processor has.
#pragma once

#include <cstdint>
#include <span>

namespace eroica {

enum class InstructionSet : uint8_t { kPortable = 0, kAvx2 = 1, kAvx512 = 2 };

// Of this processor; asked once.
InstructionSet BestInstructionSet();

// The best and all below it.
std::span<const InstructionSet> AvailableInstructionSets();

}  // namespace eroica

#include "tests/evaluation/simulate/roofline.h"

#include "tests/evaluation/simulate/fault_effects.h"

namespace eroica::simulate {
namespace {

double MemoryShareOf(KernelKind kind, const MemoryBound& bound) {
  switch (kind) {
    case KernelKind::kMatrix: return bound.matrix;
    case KernelKind::kAttention: return bound.attention;
    case KernelKind::kElementwise: return bound.elementwise;
    case KernelKind::kExpertMatrix: return bound.experts;
    case KernelKind::kEmbedding: return bound.embedding;
    case KernelKind::kOptimizer: return bound.optimizer;
    case KernelKind::kCopy: break;  // its bus bounds it
  }
  return 0;
}

}  // namespace

Roofline::Roofline(const Hardware& hardware) {
  for (size_t i = 0; i < memory_share_.size(); ++i) {
    const auto kind = static_cast<KernelKind>(i);
    const double memory = MemoryShareOf(kind, hardware.memory_bound);
    memory_share_[i] = ToFactor(memory);
    clock_share_[i] =
        ToFactor(kind == KernelKind::kCopy ? hardware.clock_on_copies
                                           : 1 - memory * (1 - hardware.clock_on_memory));
  }
}

Factor Roofline::MemoryLevel(KernelKind kind, Factor clock, Factor memory) const {
  const bool follows = clock_share_[static_cast<size_t>(kind)] == kUnit;
  Factor level = follows ? clock : Inverse(UnderClock(kind, Inverse(clock)));
  if (memory != kUnit) Multiply(level, Inverse(UnderMemory(kind, memory)));
  return level;
}

}  // namespace eroica::simulate

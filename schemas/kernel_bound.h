// What a kernel works on and what bounds it, by the names that frameworks and libraries give their
// kernels. A device that is slow in what works on parameters, too, is slow itself, and one that is
// not has longer inputs; what memory bounds does not mind the device's clock.
#pragma once

#include <cstdint>
#include <string_view>

namespace eroica {

enum class KernelBound : uint8_t {
  kUnknown = 0,
  kArithmetic = 1,  // matrix products, convolutions, attention
  kMemory = 2,      // elementwise, reductions, normalization, gathering, copies on the device
  kParameters = 3,  // optimizers: bound by memory, however large the inputs
};

// By the names of PyTorch, cuBLAS, cuDNN, CUTLASS, FlashAttention, Transformer Engine, apex and
// Triton.
KernelBound BoundOf(std::string_view kernel);

// Optimizers and what goes with them.
bool WorksOnParameters(std::string_view kernel);

}  // namespace eroica

// Kernels whose work is that of the parameters, however large the inputs: a device that is slow in
// them, too, is slow itself, and one that is not has longer inputs.
#pragma once

#include <string_view>

namespace eroica {

// Optimizers and what goes with them, by the names of PyTorch's fused and foreach optimizers, of
// apex, of Transformer Engine, and of other frameworks.
bool WorksOnParameters(std::string_view kernel);

}  // namespace eroica

// The kernels of a transformer layer and of what stands around the layers: which there are, and
// their shares of the layer's time.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

struct Kernel {
  uint32_t function = 0;  // of the catalog
  KernelKind kind = KernelKind::kMatrix;
  int64_t duration_ns = 0;
  float level = 0;     // share of the SMs in use
  uint64_t bytes = 0;  // kCopy: copied
};

// A stretch of kernels between two exchanges of the tensor group. Backward kernels take twice as
// long in all: of a matrix product the gradients of the input and of the weights are products of
// their own.
struct KernelBlock {
  std::vector<Kernel> forward;
  std::vector<Kernel> backward;
};

struct ModelKernels {
  // the first half of a layer; kernels of kind kAttention need the keys and values of the whole
  // context
  KernelBlock attention;
  KernelBlock mlp;  // the second half of a dense layer
  KernelBlock
      experts;  // the second half of a layer of experts, what lies between its two all-to-alls
  KernelBlock embedding;  // empty where the workload has none
  KernelBlock head;       // and loss
  std::vector<Kernel> gradient_norm;
  std::vector<Kernel> optimizer;
  std::vector<Kernel> evaluation;  // all of one occasion
  Kernel batch_copy;               // one micro batch to the device
};

// kernels_per_layer kernels in attention and mlp together, with at least one in each: of a real
// layer's the longest ones, and many small ones where there are to be more.
ModelKernels MakeModelKernels(const Workload& workload, const Fabric& fabric,
                              FunctionCatalog& catalog);

}  // namespace eroica::simulate

// The forward and the backward pass of one micro batch through the layers that a pipeline stage
// holds, with all communication inside: tensor-parallel all-reduces (Megatron-LM, Shoeybi et al.
// 2019), the context's keys and values, all-to-alls around experts (GShard, Lepikhin et al.,
// ICLR'21), parameters gathered one layer ahead (FSDP, Zhao et al., VLDB'23), and gradients reduced
// bucket by bucket while the last backward pass goes on (PyTorch DDP, Li et al., VLDB'20).
#pragma once

#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/layer_kernels.h"
#include "tests/evaluation/simulate/program_writer.h"
#include "tests/evaluation/simulate/simulated_job.h"

namespace eroica::simulate {

// Layers [begin, end) of the model, that the stage's chunk holds.
struct LayerRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t size() const { return end - begin; }
};
LayerRange LayersOf(const SimulatedJob& job, uint32_t stage, uint32_t chunk);

// One step of one stage. All references outlive it.
class ModelPasses {
 public:
  ModelPasses(const SimulatedJob& job, const ModelKernels& kernels, uint32_t stage,
              ProgramWriter& writer);

  // input: the ticket that the first kernel waits for, or kNoTicket.
  void Forward(uint32_t chunk, uint32_t input);
  // last: of the chunk in this step, so that its gradients are complete.
  void Backward(uint32_t chunk, uint32_t input, bool last);
  // Of the gradients that are being reduced.
  const std::vector<uint32_t>& gradient_tickets() const { return gradient_tickets_; }

 private:
  bool HasEmbedding(uint32_t chunk) const;
  bool HasHead(uint32_t chunk) const;
  bool HasExperts(uint32_t layer) const;
  uint64_t KeyValueBytes() const;
  uint32_t GatherParameters();
  void Launch(const std::vector<Kernel>& kernels);
  void LayerForward(uint32_t layer);
  void LayerBackward(uint32_t layer);
  void AttentionForward();
  void AttentionBackward();
  void ReduceTensor();
  void FinishLayerGradients();
  void ReduceGradients();

  const SimulatedJob& job_;
  const Workload& workload_;
  const ModelKernels& kernels_;
  uint32_t stage_;
  ProgramWriter& writer_;
  uint32_t stage_layers_ = 0;
  uint32_t finished_layers_ = 0;  // with complete gradients
  uint32_t buckets_ = 0;
  uint32_t reduced_buckets_ = 0;
  uint64_t gradient_bytes_ = 0;  // complete, not yet being reduced
  std::vector<uint32_t> gradient_tickets_;
};

}  // namespace eroica::simulate

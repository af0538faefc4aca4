#include "tests/evaluation/simulate/model_passes.h"

#include <algorithm>

namespace eroica::simulate {

LayerRange LayersOf(const SimulatedJob& job, uint32_t stage, uint32_t chunk) {
  const uint64_t chunks = uint64_t{job.layout.pipeline} * job.layout.virtual_stages;
  const uint64_t number = uint64_t{chunk} * job.layout.pipeline + stage;
  return {.begin = static_cast<uint32_t>(job.workload.layers * number / chunks),
          .end = static_cast<uint32_t>(job.workload.layers * (number + 1) / chunks)};
}

ModelPasses::ModelPasses(const SimulatedJob& job, const ModelKernels& kernels, uint32_t stage,
                         ProgramWriter& writer)
    : job_(job), workload_(job.workload), kernels_(kernels), stage_(stage), writer_(writer) {
  for (uint32_t chunk = 0; chunk < job.layout.virtual_stages; ++chunk)
    stage_layers_ += LayersOf(job, stage, chunk).size();
  buckets_ = std::min(workload_.gradient_buckets, stage_layers_);
}

// Keys and values of all heads would be twice the activations; grouped queries need a part.
uint64_t ModelPasses::KeyValueBytes() const {
  return std::max<uint64_t>(1, workload_.activation_bytes / 2);
}

bool ModelPasses::HasEmbedding(uint32_t chunk) const { return stage_ == 0 && chunk == 0; }
bool ModelPasses::HasHead(uint32_t chunk) const {
  return stage_ + 1 == job_.layout.pipeline && chunk + 1 == job_.layout.virtual_stages;
}
bool ModelPasses::HasExperts(uint32_t layer) const {
  return workload_.expert_every > 0 && (layer + 1) % workload_.expert_every == 0;
}

uint32_t ModelPasses::GatherParameters() {
  if (!job_.layout.sharded) return ProgramWriter::kNoTicket;
  return writer_.Collective(GroupKind::kData, CollectiveOperation::kAllGather,
                            workload_.parameter_bytes);
}

void ModelPasses::Launch(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) writer_.Launch(kernel);
}

void ModelPasses::ReduceTensor() {
  writer_.Exchange(GroupKind::kTensor, CollectiveOperation::kAllReduce, workload_.activation_bytes);
}

void ModelPasses::Forward(uint32_t chunk, uint32_t input) {
  writer_.SetPhase(Phase::kForward);
  writer_.Enter("schedules.py: forward_step");
  if (chunk == 0) writer_.Launch(kernels_.batch_copy);
  writer_.Enter("gpt_model.py: forward");
  uint32_t parameters = GatherParameters();
  writer_.Await(input);
  if (HasEmbedding(chunk) && !kernels_.embedding.forward.empty()) {
    Launch(kernels_.embedding.forward);
    ReduceTensor();
  }
  writer_.Enter("transformer.py: forward");
  const LayerRange layers = LayersOf(job_, stage_, chunk);
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    const uint32_t next = layer + 1 < layers.end ? GatherParameters() : ProgramWriter::kNoTicket;
    writer_.Await(parameters);
    LayerForward(layer);
    parameters = next;
  }
  writer_.Leave();
  if (HasHead(chunk)) Launch(kernels_.head.forward);
  writer_.Leave();
  writer_.Leave();
}

void ModelPasses::Backward(uint32_t chunk, uint32_t input, bool last) {
  writer_.SetPhase(Phase::kBackward);
  writer_.Enter("schedules.py: backward_step");
  writer_.Enter("torch/autograd/graph.py: _engine_run_backward");
  uint32_t parameters = GatherParameters();
  writer_.Await(input);
  if (HasHead(chunk)) {
    Launch(kernels_.head.backward);
    if (last) gradient_bytes_ += workload_.parameter_bytes;
  }
  const LayerRange layers = LayersOf(job_, stage_, chunk);
  for (uint32_t layer = layers.end; layer-- > layers.begin;) {
    const uint32_t next = layer > layers.begin ? GatherParameters() : ProgramWriter::kNoTicket;
    writer_.Await(parameters);
    LayerBackward(layer);
    parameters = next;
    if (last) FinishLayerGradients();
  }
  if (HasEmbedding(chunk)) {
    Launch(kernels_.embedding.backward);
    if (last) gradient_bytes_ += workload_.parameter_bytes;
  }
  if (finished_layers_ == stage_layers_) ReduceGradients();
  writer_.Leave();
  writer_.Leave();
}

void ModelPasses::LayerForward(uint32_t layer) {
  AttentionForward();
  ReduceTensor();
  if (HasExperts(layer)) {
    writer_.Exchange(GroupKind::kExpert, CollectiveOperation::kAllToAll,
                     workload_.activation_bytes);
    Launch(kernels_.experts.forward);
    writer_.Exchange(GroupKind::kExpert, CollectiveOperation::kAllToAll,
                     workload_.activation_bytes);
  } else {
    Launch(kernels_.mlp.forward);
  }
  ReduceTensor();
}

void ModelPasses::LayerBackward(uint32_t layer) {
  if (HasExperts(layer)) {
    writer_.Exchange(GroupKind::kExpert, CollectiveOperation::kAllToAll,
                     workload_.activation_bytes);
    Launch(kernels_.experts.backward);
    writer_.Exchange(GroupKind::kExpert, CollectiveOperation::kAllToAll,
                     workload_.activation_bytes);
  } else {
    Launch(kernels_.mlp.backward);
  }
  ReduceTensor();
  AttentionBackward();
  ReduceTensor();
}

void ModelPasses::AttentionForward() {
  for (const Kernel& kernel : kernels_.attention.forward) {
    if (kernel.kind == KernelKind::kAttention) {
      writer_.Exchange(GroupKind::kContext, CollectiveOperation::kAllGather, KeyValueBytes());
    }
    writer_.Launch(kernel);
  }
}

// Keys and values are gathered once more, and their gradients go back to where they came from.
void ModelPasses::AttentionBackward() {
  for (const Kernel& kernel : kernels_.attention.backward) {
    const bool attention = kernel.kind == KernelKind::kAttention;
    if (attention)
      writer_.Exchange(GroupKind::kContext, CollectiveOperation::kAllGather, KeyValueBytes());
    writer_.Launch(kernel);
    if (attention)
      writer_.Exchange(GroupKind::kContext, CollectiveOperation::kReduceScatter, KeyValueBytes());
  }
}

// Buckets are of equally many layers, as far as these can be divided; the last one is reduced after
// the pass, with the embedding.
void ModelPasses::FinishLayerGradients() {
  gradient_bytes_ += workload_.parameter_bytes;
  ++finished_layers_;
  const uint64_t bucket_end = uint64_t{reduced_buckets_ + 1} * stage_layers_ / buckets_;
  if (finished_layers_ == bucket_end && finished_layers_ < stage_layers_) ReduceGradients();
}

void ModelPasses::ReduceGradients() {
  writer_.SetPhase(Phase::kGradients);
  const CollectiveOperation operation =
      job_.layout.sharded ? CollectiveOperation::kReduceScatter : CollectiveOperation::kAllReduce;
  gradient_tickets_.push_back(writer_.Collective(GroupKind::kData, operation, gradient_bytes_));
  writer_.SetPhase(Phase::kBackward);
  gradient_bytes_ = 0;
  ++reduced_buckets_;
}

}  // namespace eroica::simulate

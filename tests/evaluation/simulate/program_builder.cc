#include "tests/evaluation/simulate/program_builder.h"

#include <cstddef>
#include <utility>

#include "tests/evaluation/simulate/layer_kernels.h"
#include "tests/evaluation/simulate/model_passes.h"
#include "tests/evaluation/simulate/pipeline_schedule.h"
#include "tests/evaluation/simulate/program_writer.h"

namespace eroica::simulate {
namespace {

constexpr uint64_t kScalarBytes = 4;
// Of the training thread between the launches: looking whether gradients overflowed, adding up what
// is logged.
constexpr int64_t kBookkeepingNs = 100'000;
constexpr std::string_view kSynchronizeCall = "cudaStreamSynchronize";

// One step of one stage, from its beginning to its end.
class StepBuilder {
 public:
  StepBuilder(const SimulatedJob& job, const ModelKernels& kernels, uint32_t stage,
              FunctionCatalog& catalog)
      : job_(job),
        kernels_(kernels),
        stage_(stage),
        writer_(job.layout, catalog),
        passes_(job, kernels, stage, writer_) {}

  RankProgram Build(const StageSchedule& schedule) {
    writer_.Mark(MarkKind::kStepBegin);
    writer_.Enter("train.py: main");
    LoadData();
    writer_.Enter("train.py: train_step");
    RunPasses(schedule);
    FinishGradients();
    Optimize();
    writer_.Leave();
    EndStep();
    writer_.Leave();
    writer_.Mark(MarkKind::kStepEnd);
    return writer_.Finish();
  }

 private:
  void LoadData() {
    writer_.SetPhase(Phase::kData);
    writer_.Mark(MarkKind::kDataloaderNext);
    writer_.Enter("dataloader.py: __next__");
    writer_.Work("dataset.py: __getitem__", job_.workload.data_ns);
    writer_.Leave();
  }

  void RunPasses(const StageSchedule& schedule) {
    std::vector<uint32_t> tickets;  // by message
    for (const PipelineAction& action : schedule) {
      writer_.SetMicroBatch(action.micro_batch);
      const uint32_t input =
          action.message < tickets.size() ? tickets[action.message] : ProgramWriter::kNoTicket;
      switch (action.kind) {
        case PipelineActionKind::kReceive:
          writer_.SetPhase(action.gradients ? Phase::kBackward : Phase::kForward);
          tickets.push_back(writer_.Receive(action.peer_stages, job_.workload.activation_bytes));
          break;
        case PipelineActionKind::kSend:
          writer_.SetPhase(action.gradients ? Phase::kBackward : Phase::kForward);
          writer_.Send(action.peer_stages, job_.workload.activation_bytes);
          break;
        case PipelineActionKind::kForward:
          MarkFirst(MarkKind::kForwardBegin, forward_began_);
          passes_.Forward(action.chunk, input);
          break;
        case PipelineActionKind::kBackward:
          MarkFirst(MarkKind::kBackwardBegin, backward_began_);
          passes_.Backward(action.chunk, input,
                           action.micro_batch + 1 == job_.workload.micro_batches);
          break;
      }
    }
    writer_.SetMicroBatch(Instruction::kNoMicroBatch);
  }

  void MarkFirst(MarkKind mark, bool& began) {
    if (!std::exchange(began, true)) writer_.Mark(mark);
  }

  // The embedding is also the head's matrix: the first and the last stage add up its gradients.
  void FinishGradients() {
    writer_.SetPhase(Phase::kGradients);
    writer_.Enter("finalize_model_grads.py: finalize_model_grads");
    for (const uint32_t ticket : passes_.gradient_tickets()) writer_.Await(ticket);
    if (stage_ == 0 || stage_ + 1 == job_.layout.pipeline) {
      writer_.Exchange(GroupKind::kEmbedding, CollectiveOperation::kAllReduce,
                       job_.workload.parameter_bytes);
    }
    writer_.Work("finalize_model_grads.py: scale_gradients", kBookkeepingNs);
    writer_.Leave();
  }

  void Optimize() {
    writer_.SetPhase(Phase::kOptimizer);
    writer_.Mark(MarkKind::kOptimizerBegin);
    writer_.Mark(MarkKind::kOptimizerStep);
    writer_.Enter("optimizer.py: step");
    writer_.Enter("clip_grads.py: get_grad_norm_fp32");
    for (const Kernel& kernel : kernels_.gradient_norm) writer_.Launch(kernel);
    writer_.Exchange(GroupKind::kWorld, CollectiveOperation::kAllReduce, kScalarBytes);
    writer_.Leave();
    for (const Kernel& kernel : kernels_.optimizer) writer_.Launch(kernel);
    writer_.Leave();
  }

  // loss.item() waits for the device; then what happens once in a while.
  void EndStep() {
    const Workload& workload = job_.workload;
    writer_.SetPhase(Phase::kStepEnd);
    writer_.Enter("train.py: training_log");
    writer_.Synchronize(kSynchronizeCall);
    writer_.Leave();
    if (workload.garbage_collection.every > 0) {
      writer_.SetEvery(workload.garbage_collection.every);
      writer_.Work("<built-in function collect>", workload.garbage_collection.duration_ns);
    }
    if (workload.evaluation.every > 0) Evaluate();
    if (workload.checkpoint.every > 0) SaveCheckpoint();
    writer_.SetEvery(0);
  }

  void Evaluate() {
    writer_.SetEvery(job_.workload.evaluation.every);
    writer_.Mark(MarkKind::kEvaluationBegin);
    writer_.Enter("train.py: evaluate");
    for (const Kernel& kernel : kernels_.evaluation) writer_.Launch(kernel);
    writer_.Exchange(GroupKind::kWorld, CollectiveOperation::kAllReduce, kScalarBytes);
    writer_.Synchronize(kSynchronizeCall);
    writer_.Leave();
    writer_.Mark(MarkKind::kEvaluationEnd);
  }

  // All ranks write their part and wait for the last one.
  void SaveCheckpoint() {
    writer_.SetEvery(job_.workload.checkpoint.every);
    writer_.Mark(MarkKind::kCheckpointBegin);
    writer_.Enter("checkpointing.py: save_checkpoint");
    writer_.Work("torch/serialization.py: save", job_.workload.checkpoint.duration_ns);
    writer_.Exchange(GroupKind::kWorld, CollectiveOperation::kBarrier, kScalarBytes);
    writer_.Synchronize(kSynchronizeCall);
    writer_.Leave();
    writer_.Mark(MarkKind::kCheckpointEnd);
  }

  const SimulatedJob& job_;
  const ModelKernels& kernels_;
  uint32_t stage_;
  ProgramWriter writer_;
  ModelPasses passes_;
  bool forward_began_ = false;
  bool backward_began_ = false;
};

}  // namespace

std::vector<RankProgram> BuildPrograms(const SimulatedJob& job, FunctionCatalog& catalog) {
  const ModelKernels kernels = MakeModelKernels(job.workload, job.fabric, catalog);
  const std::vector<StageSchedule> schedules =
      SchedulePipeline({.stages = job.layout.pipeline,
                        .chunks = job.layout.virtual_stages,
                        .micro_batches = job.workload.micro_batches});
  std::vector<RankProgram> programs;
  programs.reserve(schedules.size());
  for (uint32_t stage = 0; stage < job.layout.pipeline; ++stage) {
    programs.push_back(StepBuilder(job, kernels, stage, catalog).Build(schedules[stage]));
  }
  return programs;
}

}  // namespace eroica::simulate

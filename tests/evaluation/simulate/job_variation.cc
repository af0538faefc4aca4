#include "tests/evaluation/simulate/job_variation.h"

#include "tests/evaluation/simulate/fault_effects.h"
#include "tests/evaluation/simulate/fault_strikes.h"

namespace eroica::simulate {
namespace {

// Keep the draws of one thing apart from those of another.
constexpr uint64_t kLengthDraws = 0x1E46;
constexpr uint64_t kRoutingDraws = 0x4007E;
constexpr uint64_t kMicroBatchDraws = 0x3B47C;
constexpr uint64_t kLoaderDraws = 0x10ADE4;
constexpr uint64_t kKernelDraws = 0x5E4E1;
constexpr uint64_t kThreadDraws = 0x74EAD;

constexpr std::string_view kLoaderStack =
    "train.py: main > dataloader.py: __next__ > dataloader.py: _get_data";
constexpr std::string_view kLoaderQueue = "queue.py: get";

}  // namespace

JobVariation::JobVariation(const SimulatedJob& job, FunctionCatalog& catalog, uint32_t first_step)
    : layout_(job.layout),
      noise_(job.noise),
      loader_wait_(job.workload.loader_wait),
      seed_(job.seed),
      first_step_(first_step),
      warmup_steps_(job.workload.warmup_steps),
      warmup_factor_(job.workload.warmup_factor),
      micro_batches_shared_(job.workload.micro_batches_shared),
      hardware_(job) {
  const Workload& workload = job.workload;
  if (workload.length_spread > 0)
    lengths_ = std::make_unique<LogNormalTable>(workload.length_spread);
  if (workload.routing_spread > 0 && workload.expert_every > 0 && layout_.expert > 1)
    routing_ = std::make_unique<LogNormalTable>(workload.routing_spread);
  if (workload.micro_batch_spread > 0) {
    micro_batches_ = std::make_unique<MicroBatchLengths>(
        workload.micro_batch_spread, workload.micro_batches, seed_ ^ kMicroBatchDraws);
  }
  if (noise_.step_kernel > 0 || noise_.step_host > 0)
    step_noise_ = std::make_unique<CorrelatedNoise>(noise_.correlation, noise_.tail_degrees);
  if (loader_wait_.rate > 0) {
    loader_function_ =
        catalog.Add(kLoaderStack, kLoaderQueue, FunctionClass::kPython, WaitKind::kOther);
  }
}

void JobVariation::AddTo(uint32_t rank, uint32_t step, StepEffects& effects) const {
  if (step - first_step_ < warmup_steps_) Warm(step, effects);
  if (lengths_ != nullptr) DrawLength(rank, step, effects);
  if (routing_ != nullptr) Route(rank, step, effects);
  if (!hardware_.None()) hardware_.AddTo(rank, effects);
  if (step_noise_ != nullptr) Disturb(rank, step, effects);
  if (micro_batches_ != nullptr) {
    const uint32_t replica = micro_batches_shared_ ? 0 : ReplicaOf(rank);
    micro_batches_->MultiplyInto(replica, step, effects.micro_batches);
  }
  if (loader_wait_.rate > 0) WaitForLoader(rank, step, effects);
}

// Caches fill and kernels are tuned: from the factor down to 1, evenly.
void JobVariation::Warm(uint32_t step, StepEffects& effects) const {
  const double left = static_cast<double>(warmup_steps_ - (step - first_step_)) / warmup_steps_;
  const Factor factor = Longer((warmup_factor_ - 1) * left);
  for (Factor& kernel : effects.kernel) Multiply(kernel, factor);
  Multiply(effects.host, factor);
}

// A micro batch's sequences are shared by the tensor and context ranks, and by all stages.
void JobVariation::DrawLength(uint32_t rank, uint32_t step, StepEffects& effects) const {
  Multiply(effects.work, lengths_->Of(NoiseKey(seed_ ^ kLengthDraws, ReplicaOf(rank), step)));
}

// Every token goes somewhere: the shares of a group have the mean 1. Tensor ranks share an expert.
void JobVariation::Route(uint32_t rank, uint32_t step, StepEffects& effects) const {
  Coordinates at = CoordinatesOf(layout_, rank);
  const uint32_t expert = at.data % layout_.expert;
  at.tensor = 0;
  at.data -= expert;
  const uint64_t group = NoiseKey(seed_ ^ kRoutingDraws, RankAt(layout_, at), step);
  uint64_t sum = 0;
  uint64_t own = 0;
  for (uint32_t i = 0; i < layout_.expert; ++i) {
    const Factor tokens = routing_->Of(Mix(group ^ i));
    sum += tokens;
    if (i == expert) own = tokens;
  }
  Multiply(effects.expert_work, static_cast<Factor>((own * layout_.expert << 16) / sum));
}

void JobVariation::Disturb(uint32_t rank, uint32_t step, StepEffects& effects) const {
  if (noise_.step_kernel > 0) {
    const double log =
        noise_.step_kernel * step_noise_->Of(NoiseKey(seed_, kKernelDraws, rank), step);
    const Factor longer = LogFactor(log);
    for (Factor& kernel : effects.kernel) Multiply(kernel, longer);
  }
  if (noise_.step_host > 0) {
    const double log =
        noise_.step_host * step_noise_->Of(NoiseKey(seed_, kThreadDraws, rank), step);
    Multiply(effects.host, LogFactor(log));
  }
}

// A bounded Pareto distribution of exponent 1: one division.
void JobVariation::WaitForLoader(uint32_t rank, uint32_t step, StepEffects& effects) const {
  const uint64_t key = NoiseKey(seed_ ^ kLoaderDraws, rank, step);
  if (UniformOf(key) >= loader_wait_.rate) return;
  const auto shortest = static_cast<double>(loader_wait_.shortest_ns);
  const double range = 1 - shortest / static_cast<double>(loader_wait_.longest_ns);
  effects.insertions.push_back(
      {.phase = Phase::kData,
       .function = loader_function_,
       .duration_ns = static_cast<int64_t>(shortest / (1 - UniformOf(Mix(key)) * range))});
}

}  // namespace eroica::simulate

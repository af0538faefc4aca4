#include "tests/evaluation/simulate/layer_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace eroica::simulate {
namespace {

struct KernelTemplate {
  std::string_view forward;
  std::string_view backward;          // of the input's gradients, where there are two
  std::string_view weights_backward;  // empty: one kernel in the backward pass, twice as long
  KernelKind kind;
  double share;  // of the layer
  float level;
  int rank;  // 0: the last one to be left out
  bool mlp;
};

constexpr std::string_view kNormForward =
    "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<Kernel_traits<__nv_bfloat16, "
    "4096>>";
constexpr std::string_view kNormBackward =
    "void transformer_engine::normalization::rmsnorm_bwd_tuned_kernel<Kernel_traits<__nv_bfloat16, "
    "4096>>";
constexpr std::string_view kWideProduct =
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_"
    "segment_k_off_kernel__5x_cublas";
constexpr std::string_view kWideInputGradient =
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_"
    "segment_k_off_kernel__5x_cublas";
constexpr std::string_view kWideWeightGradient =
    "sm90_xmma_gemm_bf16f32_f32f32_f32_nt_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_"
    "k_off_kernel__5x_cublas";
constexpr std::string_view kProduct =
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
    "segment_k_off_kernel__5x_cublas";
constexpr std::string_view kInputGradient =
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
    "segment_k_off_kernel__5x_cublas";
constexpr std::string_view kWeightGradient =
    "sm90_xmma_gemm_bf16f32_f32f32_f32_nt_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_"
    "k_off_kernel__5x_cublas";
constexpr std::string_view kGroupedProduct =
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<GroupProblemShape, "
    "sm90_grouped_bf16_tn>>";
constexpr std::string_view kGroupedInputGradient =
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<GroupProblemShape, "
    "sm90_grouped_bf16_nn>>";
constexpr std::string_view kGroupedWeightGradient =
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<GroupProblemShape, "
    "sm90_grouped_bf16_nt>>";
constexpr std::string_view kAttentionForward =
    "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>, "
    "true>";
constexpr std::string_view kAttentionBackward =
    "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, "
    "128, 8, cutlass::bfloat16_t>, true>";
constexpr std::string_view kGatedForward =
    "void transformer_engine::gated_act_kernel<8, float, transformer_engine::silu<float, float>, "
    "__nv_bfloat16>";
constexpr std::string_view kGatedBackward =
    "void transformer_engine::dgated_act_kernel<8, float, transformer_engine::dsilu<float, float>, "
    "__nv_bfloat16>";
constexpr std::string_view kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>";
constexpr std::string_view kLoss =
    "void cunn_SoftMaxForward<4, float, float, float, at::native::SoftMaxForwardEpilogue>";
constexpr std::string_view kLossBackward =
    "void cunn_SoftMaxBackward<4, float, float, float, at::native::SoftMaxBackwardEpilogue>";
constexpr std::string_view kEmbed = "void at::native::vectorized_gather_kernel<16, long>";
constexpr std::string_view kEmbedBackward =
    "void at::native::embedding_backward_feature_kernel<c10::BFloat16, float, long>";
constexpr std::string_view kNorm =
    "void at::native::multi_tensor_apply_kernel<TensorListMetadata<1>, "
    "at::native::LpNormFunctor<float, NormType::L2>>";
constexpr std::string_view kAdam =
    "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float, int>>";
constexpr std::string_view kHostToDevice = "Memcpy HtoD (Pinned -> Device)";

// The layer in its order; shares add up to 1. Typical for a model with 4,096 hidden units and
// sequences of 8,192 tokens on an H100.
constexpr std::array<KernelTemplate, 8> kLayer = {{
    {kNormForward, kNormBackward, "", KernelKind::kElementwise, 0.03, 0.6F, 5, false},
    {kProduct, kInputGradient, kWeightGradient, KernelKind::kMatrix, 0.16, 0.92F, 3, false},
    {kAttentionForward, kAttentionBackward, "", KernelKind::kAttention, 0.22, 0.85F, 0, false},
    {kProduct, kInputGradient, kWeightGradient, KernelKind::kMatrix, 0.09, 0.9F, 4, false},
    {kNormForward, kNormBackward, "", KernelKind::kElementwise, 0.03, 0.6F, 7, true},
    {kWideProduct, kWideInputGradient, kWideWeightGradient, KernelKind::kMatrix, 0.22, 0.95F, 1,
     true},
    {kGatedForward, kGatedBackward, "", KernelKind::kElementwise, 0.04, 0.65F, 6, true},
    {kWideProduct, kWideInputGradient, kWideWeightGradient, KernelKind::kMatrix, 0.21, 0.95F, 2,
     true},
}};
// of a layer, of all kernels beyond those of kLayer together
constexpr double kSmallKernelsShare = 0.08;
constexpr int kOptimizerKernels = 4;
constexpr int kEvaluationKernels = 32;
// A micro batch on its way to the device is smaller than its activations.
constexpr uint64_t kActivationsToBatch = 4;

int64_t Share(int64_t duration_ns, double share) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(duration_ns) * share));
}

// Fills blocks forward in their order, and then makes the backward passes of them.
class BlockMaker {
 public:
  BlockMaker(const Workload& workload, FunctionCatalog& catalog)
      : workload_(workload), catalog_(catalog) {}

  Kernel Make(std::string_view name, KernelKind kind, int64_t duration_ns, float level) {
    return {.function = catalog_.Add("", name, FunctionClass::kGpuCompute),
            .kind = kind,
            .duration_ns = duration_ns,
            .level = level};
  }

  // What the template runs, `layers` layers long.
  void Append(const KernelTemplate& of, double layers, KernelBlock& block) {
    const int64_t duration_ns = Share(workload_.layer_forward_ns, layers);
    block.forward.push_back(Make(of.forward, of.kind, duration_ns, of.level));
    // Of the backward pass the first kernels stand last, until all are turned round.
    if (of.weights_backward.empty()) {
      block.backward.push_back(Make(of.backward, of.kind, 2 * duration_ns, of.level));
      return;
    }
    block.backward.push_back(Make(of.weights_backward, of.kind, duration_ns, of.level));
    block.backward.push_back(Make(of.backward, of.kind, duration_ns, of.level));
  }

  // One half of the layer. experts: its products are those of many small matrices, and all its work
  // is that of the tokens that come to the rank.
  KernelBlock Half(bool mlp, bool experts) {
    const auto wanted = static_cast<int>(workload_.kernels_per_layer);
    const int small = wanted - static_cast<int>(kLayer.size());
    double share = 0;
    for (const KernelTemplate& of : kLayer) share += of.rank < wanted ? of.share : 0;
    const double scale = (small > 0 ? 1 - kSmallKernelsShare : 1) / share;
    KernelBlock block;
    for (KernelTemplate of : kLayer) {
      if (of.mlp != mlp || of.rank >= wanted) continue;
      if (experts) MakeExpert(of);
      Append(of, of.share * scale, block);
    }
    const int small_here = small <= 0 ? 0 : mlp ? small / 2 : small - small / 2;
    const KernelKind kind = experts ? KernelKind::kExpertMatrix : KernelKind::kElementwise;
    for (int i = 0; i < small_here; ++i)
      Append({kAdd, kAdd, "", kind, 0, 0.5F, 0, mlp}, kSmallKernelsShare / small, block);
    std::reverse(block.backward.begin(), block.backward.end());
    return block;
  }

 private:
  static void MakeExpert(KernelTemplate& of) {
    if (of.kind == KernelKind::kMatrix) {
      of.forward = kGroupedProduct;
      of.backward = kGroupedInputGradient;
      of.weights_backward = kGroupedWeightGradient;
      of.level = 0.8F;
    }
    of.kind = KernelKind::kExpertMatrix;
  }

  const Workload& workload_;
  FunctionCatalog& catalog_;
};

void AppendAround(const Workload& workload, BlockMaker& maker, ModelKernels& kernels) {
  constexpr double kLossShare = 0.15;
  if (workload.embedding_layers > 0) {
    maker.Append({kEmbed, kEmbedBackward, "", KernelKind::kEmbedding, 0, 0.4F, 0, false},
                 workload.embedding_layers, kernels.embedding);
  }
  if (workload.head_layers <= 0) return;
  maker.Append({kWideProduct, kWideInputGradient, kWideWeightGradient, KernelKind::kMatrix, 0,
                0.95F, 0, false},
               workload.head_layers * (1 - kLossShare), kernels.head);
  maker.Append({kLoss, kLossBackward, "", KernelKind::kElementwise, 0, 0.6F, 0, false},
               workload.head_layers * kLossShare, kernels.head);
  std::reverse(kernels.head.backward.begin(), kernels.head.backward.end());
}

}  // namespace

ModelKernels MakeModelKernels(const Workload& workload, const Fabric& fabric,
                              FunctionCatalog& catalog) {
  BlockMaker maker(workload, catalog);
  ModelKernels kernels;
  kernels.attention = maker.Half(false, false);
  kernels.mlp = maker.Half(true, false);
  if (workload.expert_every > 0) kernels.experts = maker.Half(true, true);
  AppendAround(workload, maker, kernels);
  constexpr double kNormShare = 0.1;
  kernels.gradient_norm.push_back(
      maker.Make(kNorm, KernelKind::kOptimizer, Share(workload.optimizer_ns, kNormShare), 0.5F));
  for (int i = 0; i < kOptimizerKernels; ++i) {
    kernels.optimizer.push_back(
        maker.Make(kAdam, KernelKind::kOptimizer,
                   Share(workload.optimizer_ns, (1 - kNormShare) / kOptimizerKernels), 0.7F));
  }
  for (int i = 0; workload.evaluation.every > 0 && i < kEvaluationKernels; ++i) {
    const int64_t duration_ns = Share(workload.evaluation.duration_ns, 1.0 / kEvaluationKernels);
    kernels.evaluation.push_back(
        i % 4 == 3 ? maker.Make(kAttentionForward, KernelKind::kAttention, duration_ns, 0.85F)
                   : maker.Make(kWideProduct, KernelKind::kMatrix, duration_ns, 0.95F));
  }
  const uint64_t batch_bytes =
      std::max<uint64_t>(1, workload.activation_bytes / kActivationsToBatch);
  kernels.batch_copy = {.function = catalog.Add("", kHostToDevice, FunctionClass::kMemoryOp),
                        .kind = KernelKind::kCopy,
                        .duration_ns = Share(1, static_cast<double>(batch_bytes) / fabric.pcie),
                        .bytes = batch_bytes};
  return kernels;
}

}  // namespace eroica::simulate

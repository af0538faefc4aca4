#include "schemas/kernel_bound.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(WorksOnParameters, KnowsOptimizersByTheirNames) {
  EXPECT_TRUE(WorksOnParameters(
      "void at::native::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, "
      "FusedAdamMathFunctor<float, 4>>"));
  EXPECT_TRUE(WorksOnParameters("AdafactorKernel"));
  EXPECT_FALSE(WorksOnParameters(
      "void at::native::vectorized_elementwise_kernel<4, add_kernel::{lambda(float)#1}>"));
  EXPECT_FALSE(WorksOnParameters("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"));
}

TEST(KernelBound, MatrixProductsAndAttentionAreBoundByArithmetic) {
  for (const char* kernel :
       {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64",
        "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16_128x128_64x3_nn_align8>",
        "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNN", "ampere_sgemm_128x64_nn",
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>>",
        "fmha_cutlassF_bf16_aligned_64x128_rf_sm80"})
    EXPECT_EQ(BoundOf(kernel), KernelBound::kArithmetic) << kernel;
}

TEST(KernelBound, WhatTouchesEachElementOnceIsBoundByMemory) {
  for (const char* kernel :
       {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
        "void cunn_SoftMaxForward<4, float, float, float, SoftMaxForwardEpilogue>",
        "void (anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
        "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<Kernel_traits<4096>>",
        "void at::native::embedding_backward_feature_kernel<c10::BFloat16, float, long>",
        "triton_poi_fused_add_mul_3"})
    EXPECT_EQ(BoundOf(kernel), KernelBound::kMemory) << kernel;
}

TEST(KernelBound, OptimizersWorkOnParameters) {
  EXPECT_EQ(BoundOf("multi_tensor_apply_kernel<AdamFunctor>"), KernelBound::kParameters);
}

TEST(KernelBound, OtherNamesSayNothing) {
  EXPECT_EQ(BoundOf("my_fused_thing"), KernelBound::kUnknown);
  EXPECT_EQ(BoundOf(""), KernelBound::kUnknown);
}

}  // namespace
}  // namespace eroica

#include "schemas/parameter_kernel.h"

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

}  // namespace
}  // namespace eroica

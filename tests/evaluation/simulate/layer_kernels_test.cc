#include "tests/evaluation/simulate/layer_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/evaluation/simulate/function_catalog.h"

namespace eroica::simulate {
namespace {

int64_t Total(const std::vector<Kernel>& kernels) {
  return std::accumulate(
      kernels.begin(), kernels.end(), int64_t{0},
      [](int64_t sum, const Kernel& kernel) { return sum + kernel.duration_ns; });
}

ModelKernels Make(const Workload& workload) {
  FunctionCatalog catalog;
  return MakeModelKernels(workload, Fabric{}, catalog);
}

TEST(LayerKernels, ALayerHasItsKernelsAndItsTime) {
  for (const uint32_t count : {2u, 3u, 6u, 8u, 9u, 30u}) {
    const Workload workload = {.kernels_per_layer = count, .expert_every = 2};
    const ModelKernels kernels = Make(workload);
    for (const KernelBlock* second : {&kernels.mlp, &kernels.experts}) {
      EXPECT_EQ(kernels.attention.forward.size() + second->forward.size(), count);
      const auto close = static_cast<double>(count);
      EXPECT_NEAR(static_cast<double>(Total(kernels.attention.forward) + Total(second->forward)),
                  static_cast<double>(workload.layer_forward_ns), close);
      EXPECT_NEAR(static_cast<double>(Total(kernels.attention.backward) + Total(second->backward)),
                  static_cast<double>(2 * workload.layer_forward_ns), 2 * close);
      EXPECT_FALSE(second->forward.empty());
    }
  }
}

TEST(LayerKernels, TheBackwardPassTurnsTheLayerRound) {
  const ModelKernels kernels = Make({.kernels_per_layer = 8});
  const std::vector<Kernel>& forward = kernels.attention.forward;
  const std::vector<Kernel>& backward = kernels.attention.backward;
  ASSERT_EQ(forward.size(), 4u);
  ASSERT_EQ(backward.size(), 6u);  // of each of two products the gradients of input and weights
  EXPECT_EQ(backward.front().kind, KernelKind::kMatrix);
  EXPECT_EQ(backward.back().kind, KernelKind::kElementwise);
  EXPECT_NE(backward[0].function, backward[1].function);
  EXPECT_EQ(backward[2].kind, KernelKind::kAttention);
  EXPECT_EQ(backward[2].duration_ns, 2 * forward[2].duration_ns);
}

TEST(LayerKernels, HasOneAttentionKernelAndOnlyExpertKernelsBetweenTheAllToAlls) {
  const ModelKernels kernels = Make({.kernels_per_layer = 12, .expert_every = 1});
  const auto attends = [](const Kernel& kernel) { return kernel.kind == KernelKind::kAttention; };
  const auto of_experts = [](const Kernel& kernel) {
    return kernel.kind == KernelKind::kExpertMatrix;
  };
  EXPECT_EQ(
      std::count_if(kernels.attention.forward.begin(), kernels.attention.forward.end(), attends),
      1);
  EXPECT_EQ(
      std::count_if(kernels.attention.backward.begin(), kernels.attention.backward.end(), attends),
      1);
  EXPECT_TRUE(
      std::all_of(kernels.experts.forward.begin(), kernels.experts.forward.end(), of_experts));
  EXPECT_TRUE(std::none_of(kernels.mlp.forward.begin(), kernels.mlp.forward.end(), of_experts));
}

TEST(LayerKernels, WhatTheWorkloadLacksIsNotThere) {
  const ModelKernels kernels = Make({.embedding_layers = 0, .head_layers = 0});
  EXPECT_TRUE(kernels.embedding.forward.empty());
  EXPECT_TRUE(kernels.embedding.backward.empty());
  EXPECT_TRUE(kernels.head.forward.empty());
  EXPECT_TRUE(kernels.experts.forward.empty());
  EXPECT_TRUE(kernels.evaluation.empty());
}

TEST(LayerKernels, StagesThatDifferTakeLonger) {
  const Workload workload = {
      .layer_forward_ns = 1'000'000, .embedding_layers = 0.5, .head_layers = 2};
  const ModelKernels kernels = Make(workload);
  EXPECT_NEAR(static_cast<double>(Total(kernels.embedding.forward)), 5e5, 2);
  EXPECT_NEAR(static_cast<double>(Total(kernels.head.forward)), 2e6, 2);
  EXPECT_NEAR(static_cast<double>(Total(kernels.head.backward)), 4e6, 4);
}

TEST(LayerKernels, OptimizerAndEvaluationTakeTheirTime) {
  const Workload workload = {.optimizer_ns = 4'000'000,
                             .evaluation = {.every = 5, .duration_ns = 64'000'000}};
  const ModelKernels kernels = Make(workload);
  EXPECT_NEAR(static_cast<double>(Total(kernels.optimizer) + Total(kernels.gradient_norm)), 4e6, 5);
  EXPECT_NEAR(static_cast<double>(Total(kernels.evaluation)), 64e6, 32);
}

TEST(LayerKernels, TheBatchGoesOverThePciBus) {
  FunctionCatalog catalog;
  const ModelKernels kernels =
      MakeModelKernels({.activation_bytes = 100'000'000}, {.pcie = 25}, catalog);
  EXPECT_EQ(kernels.batch_copy.kind, KernelKind::kCopy);
  EXPECT_EQ(kernels.batch_copy.bytes, 25'000'000u);
  EXPECT_EQ(kernels.batch_copy.duration_ns, 1'000'000);
  EXPECT_EQ(catalog.functions()[kernels.batch_copy.function].function_class,
            FunctionClass::kMemoryOp);
}

TEST(LayerKernels, NoNameHoldsTheSeparatorOfStacks) {
  FunctionCatalog catalog;
  MakeModelKernels({.kernels_per_layer = 20,
                    .expert_every = 1,
                    .evaluation = {.every = 1, .duration_ns = 1'000}},
                   Fabric{}, catalog);
  for (const FunctionDef& function : catalog.functions())
    EXPECT_EQ(function.name.find(kStackSeparator), std::string::npos) << function.name;
}

}  // namespace
}  // namespace eroica::simulate

#include "producers/import/collective_kernels.h"

#include <gtest/gtest.h>

#include <utility>

namespace eroica {
namespace {

TEST(CollectiveKernels, Nccl) {
  using enum CollectiveOperation;
  for (const char* name :
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllReduce_TREE_LL_Sum_float(ncclWorkElem)"}) {
    EXPECT_EQ(CollectiveKernel(name), kAllReduce) << name;
    EXPECT_TRUE(IsNcclKernel(name)) << name;
  }
  EXPECT_EQ(CollectiveKernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"), kUnknown);
  EXPECT_EQ(CollectiveKernel("mcclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(mcclWorkElem)"), kUnknown);
  EXPECT_EQ(CollectiveKernel("mcclKernel_AllReduce_FC4_LL_Sum_mccl_bfloat16(fcinfo)"), kAllReduce);
  EXPECT_TRUE(IsNcclKernel("mcclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(mcclWorkElem)"));
  EXPECT_EQ(CollectiveKernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)"), kReduceScatter);
}

// As profilers write them: with return types, templates and arguments.
TEST(CollectiveKernels, OfLibrariesWithoutNccl) {
  using enum CollectiveOperation;
  const std::pair<const char*, CollectiveOperation> kernels[] = {
      {"void deep_ep::internode::dispatch<false, 8, true, 8>(int4*, float*, long*)", kAllToAll},
      {"void deep_ep::internode_ll::combine<true, 7168, 9>(void*, int)", kAllToAll},
      {"void primus_turbo::deep_ep::intranode::notify_dispatch<8>(int const*, int*)", kAllToAll},
      {"void deep_ep::intranode::cached_notify_combine<8>(void**, int*, int)", kAllToAll},
      {"_ZN7deep_ep9internode7combineILb0E14__nv_bfloat16Li8EEEvP4int4", kAllToAll},
      {"void deep_ep::intranode::barrier<8>(int**, int)", kBarrier},
      {"void deep_ep::internode_ll::clean_low_latency_buffer<32>(int*, int)", kBarrier},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, int)", kAllReduce},
      {"void sglang::cross_device_reduce_2stage<half, 8>(RankData*)", kAllReduce},
      {"quickreduce::allreduce_prototype_twoshot<AllReduceTwoshot<__half, CodecQ4>, __half>",
       kAllReduce},
      {"void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8, true>(AllReduceParams)",
       kAllReduce},
      {"void allreduce_fusion_kernel_oneshot_lamport<(AllReduceFusionPattern)1, half, 8>(P)",
       kAllReduce},
      {"void one_shot_prenorm_all_reduce_norm_kernel<half, 4>(AllReduceParams)", kAllReduce},
      {"void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>(x)",
       kAllReduce},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(x)", kAllReduce},
      {"void c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int)", kBarrier},
      {"EpDispatchIntraNodeKernel_bf16", kAllToAll},
      {"void nixl_ep::ep_kernels::dispatch<false, 7168>(void*, int)", kAllToAll},
      {"void nccl_ep::internode_ll::combine<true, 7168, 9>(void*, int)", kAllToAll},
      {"nvshmemi_barrier_on_stream_kernel_threadgroup(int)", kBarrier},
      {"void rdxn_on_stream_kernel<float, (rdxn_ops)0>(int, float*)", kAllReduce},
      {"void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int)", kUnknown},
      {"hcom_allReduce__128_4_1", kAllReduce},
      {"hcom_reduceScatter__128_4_1", kReduceScatter},
      {"hcom_send__2_0_1", kSend},
      {"hcom_batchSendRecv__128_4_1", kUnknown},
      {"oneccl_allgatherv_pcie<half, Rt64_128_PCIE, RingTransmit>", kAllGather},
  };
  for (const auto& [name, operation] : kernels) {
    EXPECT_EQ(CollectiveKernel(name), operation) << name;
    EXPECT_FALSE(IsNcclKernel(name)) << name;
  }
}

TEST(CollectiveKernels, ThatWorkAlone) {
  for (const char* name :
       {"void gemm_kernel<float>()",
        "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)",
        "triton_poi_fused_add_all_reduce_wait_tensor_3",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(x)",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8>(int)",
        "void smallReduceKernel<float>(x)", "void cub::DeviceScanKernel<AllReduceOp>(x)",
        "void combine_topk_kernel<8>(x)", "void flash::combine_attn_seqk_parallel<x>(y)",
        "void moe::dispatch_tokens(allreduce_context)", "MatMulV2", ""}) {
    EXPECT_FALSE(CollectiveKernel(name).has_value()) << name;
  }
}

TEST(CollectiveKernels, CallsOfOneFunctionHaveOneName) {
  EXPECT_EQ(WithoutInstance("hcom_allReduce__128_4_1"), "hcom_allReduce_");
  EXPECT_EQ(WithoutInstance("foo__bar"), "foo__bar");
}

}  // namespace
}  // namespace eroica

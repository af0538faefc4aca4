#include "producers/cupti/activity_names.h"

#include <gtest/gtest.h>

#include <string>

#include "producers/import/function_classifier.h"

namespace eroica {
namespace {

// Names as Kineto wrote them in the traces that the importer is tested with.
TEST(ActivityNames, AreThoseOfImportedTraces) {
  EXPECT_EQ(MemcpyName(1, 2, 3), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(MemcpyName(1, 1, 3), "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(MemcpyName(2, 3, 1), "Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(MemcpyName(8, 3, 3), "Memcpy DtoD (Device -> Device)");
  EXPECT_EQ(MemcpyName(10, 3, 3), "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(MemsetName(3), "Memset (Device)");
  EXPECT_EQ(KernelName("_ZN10fbgemm_gpu25permute_2D_lengths_kernelIiEEviiiPKiS2_Pi"),
            "void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int, int const*, "
            "int const*, int*)");
  EXPECT_EQ(KernelName("_Z38ncclKernel_AllReduce_RING_LL_Sum_float12ncclWorkElem"),
            "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)");
}

TEST(ActivityNames, KindsOfNewerVersionsHaveAName) {
  EXPECT_EQ(MemcpyName(200, 77, 255), "Memcpy <unknown> (Unrecognized -> Unrecognized)");
  EXPECT_EQ(MemsetName(60'000), "Memset (Unrecognized)");
}

TEST(ActivityNames, SymbolsThatAreNoMangledNamesStayAsTheyAre) {
  EXPECT_EQ(KernelName("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(KernelName("sm90_xmma_gemm_bf16bf16_bf16f32_tn"), "sm90_xmma_gemm_bf16bf16_bf16f32_tn");
  EXPECT_EQ(KernelName("_Z"), "_Z");
  // A type's code is demangled as the type, in Kineto as here.
  EXPECT_EQ(KernelName("f"), "float");
  EXPECT_EQ(KernelName("_ZN"), "_ZN");
  EXPECT_EQ(KernelName(""), "(kernel without a name)");
  EXPECT_EQ(KernelName(nullptr), "(kernel without a name)");
}

// Kineto leaves symbols of more than 1,024 characters mangled, and so must we.
TEST(ActivityNames, LongSymbolsStayMangled) {
  const auto symbol = [](size_t word) {
    return "_Z" + std::to_string(word) + std::string(word, 'k') + "v";
  };
  const std::string longest = symbol(1'024 - 7);  // "_Z", four digits, "v"
  ASSERT_EQ(longest.size(), 1'024u);
  EXPECT_EQ(KernelName(longest.c_str()), std::string(1'024 - 7, 'k') + "()");
  const std::string longer = symbol(1'024 - 6);
  EXPECT_EQ(KernelName(longer.c_str()), longer);
}

TEST(ActivityNames, HostWaitsAreTheRuntimeCallsThatTheImporterTakesForWaits) {
  for (const auto type :
       {SynchronizationType::kEventSynchronize, SynchronizationType::kStreamSynchronize,
        SynchronizationType::kContextSynchronize}) {
    ASSERT_NE(WaitName(type), nullptr);
    EXPECT_EQ(WaitOfRuntimeCall(WaitName(type)), WaitKind::kPeer);
  }
  EXPECT_EQ(WaitName(SynchronizationType::kStreamWaitEvent), nullptr);
  EXPECT_EQ(WaitName(SynchronizationType::kUnknown), nullptr);
  EXPECT_EQ(WaitName(static_cast<SynchronizationType>(99)), nullptr);
}

}  // namespace
}  // namespace eroica

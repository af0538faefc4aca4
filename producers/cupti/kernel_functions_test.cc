#include "producers/cupti/kernel_functions.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "producers/core/testing/recorded_core.h"

namespace eroica {
namespace {

class KernelFunctionsTest : public testing::Test {
 protected:
  KernelFunctionsTest() { recorded_core::Reset(); }
  std::string NameOf(const char* symbol) {
    const uint32_t function = functions_.Find(symbol).function;
    return recorded_core::Read().functions.at(function).name;
  }
  KernelFunctions functions_;
};

TEST_F(KernelFunctionsTest, NumbersOfKernelsAndOfNccl) {
  const KernelFunction gemm = functions_.Find("_Z4gemmPf");
  const KernelFunction nccl = functions_.Find("_Z31ncclDevKernel_AllReduce_Sum_f32v");
  EXPECT_FALSE(gemm.collective);
  EXPECT_TRUE(nccl.collective);
  const auto taken = recorded_core::Read().functions;
  EXPECT_EQ(taken.at(gemm.function),
            (recorded_core::TakenFunction{"gemm(float*)", EROICA_GPU_COMPUTE, EROICA_WAIT_NONE}));
  EXPECT_EQ(taken.at(nccl.function).function_class, EROICA_COLLECTIVE);
}

// Triton unloads modules: the next kernel's name may lie where another one's was.
TEST_F(KernelFunctionsTest, AnotherNameAtTheSameAddressIsAnotherFunction) {
  char symbol[32] = "first";
  EXPECT_EQ(NameOf(symbol), "first");
  EXPECT_EQ(NameOf(symbol), "first");
  std::strcpy(symbol, "second");
  EXPECT_EQ(NameOf(symbol), "second");
  std::strcpy(symbol, "first");
  EXPECT_EQ(NameOf(symbol), "first");
  std::strcpy(symbol, "firs");
  EXPECT_EQ(NameOf(symbol), "firs");
  EXPECT_EQ(functions_.symbols(), 3u);
}

TEST_F(KernelFunctionsTest, TheSameNameAtAnotherAddressIsTheSameFunction) {
  const std::string one = "_Z6reducev";
  const std::string other("_Z6reducev");
  ASSERT_NE(one.c_str(), other.c_str());
  EXPECT_EQ(functions_.Find(one.c_str()).function, functions_.Find(other.c_str()).function);
  EXPECT_EQ(functions_.symbols(), 1u);
}

TEST_F(KernelFunctionsTest, KernelsWithoutANameAreOneFunction) {
  EXPECT_EQ(functions_.Find(nullptr).function, functions_.Find("").function);
}

TEST_F(KernelFunctionsTest, StaysBounded) {
  // Fewer strings at a time than names, so that addresses come again, too.
  std::vector<std::string> symbols(64);
  for (size_t i = 0; i < 100 + KernelFunctions::kMaxSymbols; ++i) {
    std::string& symbol = symbols[i % symbols.size()];
    symbol = "kernel_" + std::to_string(i);
    functions_.Find(symbol.c_str());
  }
  EXPECT_EQ(functions_.symbols(), KernelFunctions::kMaxSymbols);
  const size_t given = recorded_core::Read().functions.size();
  EXPECT_EQ(given, KernelFunctions::kMaxSymbols + 1);  // one for all that found no room
  EXPECT_EQ(functions_.Find("kernel_x").function, functions_.Find("kernel_y").function);
  // What is known stays known, and NCCL's kernels stay apart from the others.
  EXPECT_EQ(NameOf("kernel_5"), "kernel_5");
  EXPECT_TRUE(functions_.Find("ncclDevKernel_SendRecv").collective);
  EXPECT_FALSE(functions_.Find("kernel_z").collective);
}

}  // namespace
}  // namespace eroica

// What a claim memory keeps over a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/ledger/claim_memory.h"
#include "diagnosis/ledger/claim_memory_test_claims.h"

namespace eroica {
namespace {

using ::testing::SizeIs;

TEST(ClaimMemory, WhatAnEarlierVersionKeptIsRead) {
  ClaimMemory memory;
  ASSERT_TRUE(memory.Restore("1 1\n1 0 4 4 4 0.1 0 1 5 gemm\n"));
  EXPECT_THAT(Ripen(memory, 2, {Claim(2, 5, 4)}), SizeIs(1));
  EXPECT_FALSE(memory.Restore("4 1 0 7\n")) << "no unrest";
  EXPECT_FALSE(memory.Restore("6 1\n"));
}

TEST(ClaimMemory, ARestartForgetsNothing) {
  ClaimMemory before;
  Ripen(before, 1,
        {Claim(1, 5, 4), Claim(1, 7, 1, "<built-in function collect>", FunctionClass::kPython)});
  ClaimMemory after;
  ASSERT_TRUE(after.Restore(before.Encode()));
  EXPECT_EQ(after.Encode(), before.Encode());
  EXPECT_EQ(Ripen(after, 2, {Claim(2, 5, 4)}), Ripen(before, 2, {Claim(2, 5, 4)}));
}

TEST(ClaimMemory, WhatIsNoStateIsRefused) {
  ClaimMemory memory;
  EXPECT_FALSE(memory.Restore(""));
  EXPECT_FALSE(memory.Restore("7 1\n"));
  EXPECT_FALSE(memory.Restore("1 1\n4 x\n"));
  EXPECT_FALSE(memory.Restore("1 1\n4 0 16 4 4 0.1 0 2 5\n"));
  EXPECT_FALSE(memory.Restore("1 1\n4 99 16 4 4 0.1 0 1 5 gemm\n"));
  EXPECT_TRUE(memory.Restore("1 1\n4 0 16 4 4 0.1 0 1 5 gemm\n"));
}

}  // namespace
}  // namespace eroica

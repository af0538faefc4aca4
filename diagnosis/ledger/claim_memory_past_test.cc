// The windows before the one in which a claim opens a finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnosis/ledger/claim_memory.h"
#include "diagnosis/ledger/claim_memory_test_claims.h"

namespace eroica {
namespace {

// What the rank was late in before, in a single step, is not since when it runs another function. A
// fault may have several.
TEST(ClaimMemoryPast, AnotherFunctionIsNotTheBeginningOfAFault) {
  const auto began = [](const std::string& before, double slow_steps = 1) {
    ClaimMemory memory;
    Ripen(memory, 1, {Claim(1, 5, slow_steps, before)});
    Ripen(memory, 2, {Claim(2, 5, 4, "train.py(9): read")});
    const std::vector<Finding> ripe = Ripen(memory, 3, {Claim(3, 5, 4, "train.py(9): read")});
    return ripe.empty() ? -1 : ripe[0].first_window;
  };
  EXPECT_EQ(began("train.py(9): read"), 1);
  EXPECT_EQ(began("every python function"), 1) << "the same, not yet named";
  EXPECT_EQ(began(""), 1);
  EXPECT_EQ(began("ast.py(33): parse"), 2);
  EXPECT_EQ(began("train.py(3): free", 4), 1) << "in all of its steps";
}

}  // namespace
}  // namespace eroica

// When a window of few steps is enough for a claim.
#include <gtest/gtest.h>

#include "diagnosis/ledger/claim_memory.h"
#include "diagnosis/ledger/claim_memory_test_claims.h"
#include "diagnosis/report/finding_measures.h"

namespace eroica {
namespace {

// Nobody else's port has been slow in all of these windows.
// Longer inputs lengthen what everybody runs.
TEST(ClaimMemory, AFunctionThatNobodyElseRunsIsEnoughInFewSteps) {
  const auto opened = [](double peers, double p_value, std::vector<Culprit> culprits) {
    ClaimMemory memory;
    Finding claim = Claim(1, 5, 4, "read", FunctionClass::kPython);
    claim.culprits = std::move(culprits);
    claim.evidence.push_back({.name = "function_time_per_step",
                              .unit = "ns",
                              .culprit = 1e7,
                              .peers = peers,
                              .samples = 4});
    claim.evidence.push_back({.name = "active_steps", .unit = "count", .culprit = 4, .samples = 4});
    claim.evidence.push_back({.name = std::string(kPValueOfExcess),
                              .unit = "probability",
                              .culprit = p_value,
                              .samples = 4});
    return Ripen(memory, 1, {claim}).size() == 1;
  };
  EXPECT_TRUE(opened(0, 1e-9, {{.rank = 5}}));
  EXPECT_TRUE(opened(0, 1, {{.rank = 4}, {.rank = 5}})) << "two ranks do not run it by coincidence";
  EXPECT_FALSE(opened(0, 1e-7, {{.rank = 5}})) << "any of sixteen ranks might have been so late";
  EXPECT_FALSE(opened(1e6, 1e-9, {{.rank = 5}})) << "peers run it, too";
}

// All steps are equally long, and none of them is as short as a peer's.
TEST(ClaimMemory, FewStepsAreEnoughWhereNoNoiseDoesIt) {
  const auto opened = [](double p_value, double slow_steps, uint64_t steps,
                         FindingKind kind = FindingKind::kSlowRank) {
    ClaimMemory memory;
    Finding claim = Claim(1, 5, slow_steps);
    claim.kind = kind;
    claim.evidence[0].samples = steps;
    claim.evidence.push_back({.name = std::string(kPValueOfExcess),
                              .unit = "probability",
                              .culprit = p_value,
                              .samples = steps});
    return Ripen(memory, 1, {claim}).size() == 1;
  };
  EXPECT_TRUE(opened(1e-20, 3, 3));
  EXPECT_FALSE(opened(1e-12, 3, 3)) << "any of sixteen ranks might have been it";
  EXPECT_FALSE(opened(1e-20, 3, 4)) << "not all of them";
  EXPECT_FALSE(opened(1e-20, 2, 2)) << "two in a row may be one accident";
  EXPECT_FALSE(opened(1e-20, 3, 3, FindingKind::kImbalance))
      << "pauses of a device may look like uneven inputs";
}

// Clock and time; bytes and time: not what uneven steps do.
TEST(ClaimMemory, FewStepsAreEnoughWhereWhatElseWasMeasuredAgrees) {
  const auto opened = [](double signs, double slow_steps, uint64_t steps,
                         FindingKind kind = FindingKind::kSlowRank, double p_value = 1) {
    ClaimMemory memory;
    Finding claim = Claim(1, 5, slow_steps);
    claim.kind = kind;
    claim.evidence[0].samples = steps;
    claim.evidence.push_back({.name = std::string(kSignsThatAgree),
                              .unit = "count",
                              .culprit = signs,
                              .threshold = 3,
                              .samples = 3});
    claim.evidence.push_back({.name = std::string(kPValueOfExcess),
                              .unit = "probability",
                              .culprit = p_value,
                              .samples = steps});
    return Ripen(memory, 1, {claim}).size() == 1;
  };
  EXPECT_TRUE(opened(3, 3, 3));
  EXPECT_FALSE(opened(2, 3, 3)) << "one of them says nothing";
  EXPECT_FALSE(opened(3, 2, 3)) << "not in all steps";
  EXPECT_FALSE(opened(3, 2, 2)) << "two in a row may be one accident";
  EXPECT_TRUE(opened(3, 3, 3, FindingKind::kImbalance, 1e-20));
  EXPECT_FALSE(opened(3, 3, 3, FindingKind::kImbalance, 1e-6))
      << "inputs of any length are uneven at random";
}

TEST(ClaimMemory, ARestartForgetsNothing) {
  ClaimMemory before;
  Ripen(before, 1,
        {Claim(1, 5, 4), Claim(1, 7, 1, "<built-in function collect>", FunctionClass::kPython)});
  ClaimMemory after;
  after.Restore(before.State());
  EXPECT_EQ(after.State(), before.State());
  EXPECT_EQ(Ripen(after, 2, {Claim(2, 5, 4)}), Ripen(before, 2, {Claim(2, 5, 4)}));
}

}  // namespace
}  // namespace eroica

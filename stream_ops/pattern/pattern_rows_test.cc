#include "stream_ops/pattern/pattern_rows.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

class PatternRowsTest : public testing::Test {
 protected:
  PatternRowsTest() {
    functions_.Intern(
        std::vector<FunctionDef>{{"step", FunctionClass::kPython},
                                 {"sleep", FunctionClass::kPython, WaitKind::kOther, 0},
                                 {"gemm", FunctionClass::kGpuCompute},
                                 {"tiny", FunctionClass::kGpuCompute},
                                 {"all_reduce", FunctionClass::kCollective}},
        &numbers_);
    intervals_ = {{0, 1000, numbers_[0], 0},
                  {100, 400, numbers_[1], 0},
                  {500, 700, numbers_[2], 1},
                  {700, 703, numbers_[3], 1},
                  {703, 704, numbers_[4], kNoTicket}};
    input_ = {.intervals = intervals_,
              .functions = functions_.traits(),
              .lanes = lanes_,
              .start_ns = 0,
              .end_ns = 1000};
    batch_.window = {.start_ns = 0, .end_ns = 1000};
  }
  void Build(const RowLimits& limits = {}, std::vector<ResourceSample> samples = {}) {
    sweep_.Run(input_);
    resources_.Run(input_, samples);
    BuildPatternRows(sweep_, functions_, resources_,
                     std::vector<FunctionBytes>{{numbers_[4], 100}, {numbers_[4], 28}}, limits,
                     &batch_);
  }
  const FunctionPattern* Find(std::string_view name) const {
    for (const FunctionPattern& row : batch_.patterns) {
      if (row.name == name) return &row;
    }
    return nullptr;
  }

  FunctionTable functions_;
  std::vector<uint32_t> numbers_;
  std::vector<Interval> intervals_;
  std::vector<LaneKind> lanes_{LaneKind::kTrainingThread, LaneKind::kDeviceStream};
  SweepInput input_;
  CriticalPathSweep sweep_;
  ResourceAccount resources_;
  PatternBatch batch_;
};

TEST_F(PatternRowsTest, RowsSayWhatTheSweepFound) {
  Build();
  ASSERT_EQ(batch_.patterns.size(), 5u);
  EXPECT_TRUE(std::is_sorted(batch_.patterns.begin(), batch_.patterns.end(),
                             [](const auto& a, const auto& b) { return a.function < b.function; }));
  const FunctionPattern* sleep = Find("sleep");
  ASSERT_NE(sleep, nullptr);
  EXPECT_EQ(sleep->stack, "step");
  EXPECT_EQ(sleep->wait, WaitKind::kOther);
  EXPECT_DOUBLE_EQ(sleep->beta, 0.3);
  EXPECT_EQ(sleep->critical_ns, 300);
  EXPECT_EQ(sleep->duration_mean_ns, 300);
  EXPECT_EQ(sleep->histogram.count(), 1u);
  EXPECT_EQ(sleep->resource_samples, 0u);
  EXPECT_EQ(Find("all_reduce")->bytes, 128u);
  EXPECT_EQ(Find("step")->critical_ns, 1000 - 300 - 204);
}

TEST_F(PatternRowsTest, MuAndSigmaComeFromTheResourceOfTheClass) {
  std::vector<ResourceSample> samples;
  for (int64_t t = 0; t < 1000; t += 100)
    samples.push_back({t, Resource::kGpuSm, t < 600 ? 0.4f : 0.8f});
  Build({}, samples);
  EXPECT_EQ(Find("gemm")->resource, Resource::kGpuSm);
  EXPECT_EQ(Find("gemm")->resource_samples, 2u);
  EXPECT_NEAR(Find("gemm")->mu, 0.6, 1e-4);
  EXPECT_NEAR(Find("gemm")->sigma, 0.2, 1e-4);
  EXPECT_EQ(Find("sleep")->resource, Resource::kNone);
}

TEST_F(PatternRowsTest, SmallFunctionsAreFoldedButCollectivesStay) {
  Build({.fold_below = 0.005});
  EXPECT_EQ(batch_.patterns.size(), 4u);
  EXPECT_EQ(Find("tiny"), nullptr);
  EXPECT_NE(Find("all_reduce"), nullptr);
  EXPECT_EQ(batch_.folded_functions, 1u);
  EXPECT_EQ(batch_.folded_critical_ns[static_cast<size_t>(FunctionClass::kGpuCompute)], 3);
}

// Of a window of 1000 ns; small is less than 5 ns.
bool IsSmallRow(FunctionClass function_class, std::string_view name, int64_t critical_ns,
                int64_t total_ns, WaitKind wait = WaitKind::kNone) {
  FunctionTotals totals;
  totals.critical_ns = critical_ns;
  totals.total_ns = total_ns;
  FunctionTraits traits;
  traits.function_class = function_class;
  traits.wait = wait;
  return IsSmall(totals, traits, name, 5, 1000);
}

TEST(IsSmall, OptimizersStayHoweverShort) {
  constexpr std::string_view kAdam = "multi_tensor_apply_kernel<AdamFunctor>";
  EXPECT_FALSE(IsSmallRow(FunctionClass::kGpuCompute, kAdam, 1, 0));
  EXPECT_TRUE(IsSmallRow(FunctionClass::kCpuOp, kAdam, 1, 0));
}

TEST(IsSmall, CallsOfTheRuntimeStayBelowTheirFrames) {
  const FunctionClass kCall = FunctionPattern().function_class;
  EXPECT_FALSE(IsSmallRow(kCall, "cudaMalloc", 0, 50));
  EXPECT_FALSE(IsSmallRow(kCall, "cuMemAlloc", 0, 50));
  EXPECT_TRUE(IsSmallRow(kCall, "cudaStreamSynchronize", 0, 50, WaitKind::kOther));
  EXPECT_TRUE(IsSmallRow(kCall, "cudaFree", 0, 3));
  EXPECT_TRUE(IsSmallRow(kCall, "cublasSgemm", 0, 50));
  EXPECT_TRUE(IsSmallRow(kCall, "aten::add", 0, 50));
}

TEST(IsSmall, WhatTheTrainingThreadRunsHiddenStaysUnlessItWaits) {
  EXPECT_FALSE(IsSmallRow(FunctionClass::kPython, "", 1, 20));
  EXPECT_TRUE(IsSmallRow(FunctionClass::kPython, "", 1, 19));
  EXPECT_TRUE(IsSmallRow(FunctionClass::kCpuOp, "", 1, 20));
  EXPECT_TRUE(IsSmallRow(FunctionClass::kPython, "", 1, 20, WaitKind::kOther));
}

TEST_F(PatternRowsTest, LimitsKeepTheLargest) {
  Build({.rows_max = 2});
  EXPECT_EQ(batch_.patterns.size(), 2u);
  EXPECT_NE(Find("step"), nullptr);
  EXPECT_NE(Find("sleep"), nullptr);
  EXPECT_EQ(batch_.folded_functions, 3u);
  EXPECT_EQ(batch_.folded_critical_ns[static_cast<size_t>(FunctionClass::kGpuCompute)], 203);
}

}  // namespace
}  // namespace eroica

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
  Build();
  FoldSmallRows(0.005, &batch_);
  EXPECT_EQ(batch_.patterns.size(), 4u);
  EXPECT_EQ(Find("tiny"), nullptr);
  EXPECT_NE(Find("all_reduce"), nullptr);
  EXPECT_EQ(batch_.folded_functions, 1u);
  EXPECT_EQ(batch_.folded_critical_ns[static_cast<size_t>(FunctionClass::kGpuCompute)], 3);
}

TEST(FoldSmallRows, OptimizersStayHoweverShort) {
  PatternBatch batch;
  batch.window.end_ns = 1000;
  for (const FunctionClass function_class : {FunctionClass::kGpuCompute, FunctionClass::kCpuOp}) {
    FunctionPattern& pattern = batch.patterns.emplace_back();
    pattern.name = "multi_tensor_apply_kernel<AdamFunctor>";
    pattern.function_class = function_class;
    pattern.critical_ns = 1;
  }
  FoldSmallRows(0.005, &batch);
  ASSERT_EQ(batch.patterns.size(), 1u);
  EXPECT_EQ(batch.patterns[0].function_class, FunctionClass::kGpuCompute);
}

TEST(FoldSmallRows, CallsOfTheRuntimeStayBelowTheirFrames) {
  PatternBatch batch;
  batch.window.end_ns = 1000;
  const auto row = [](std::string name, WaitKind wait, int64_t total_ns) {
    FunctionPattern pattern;
    pattern.name = std::move(name);
    pattern.wait = wait;
    pattern.total_ns = total_ns;
    return pattern;
  };
  batch.patterns = {row("cudaMalloc", WaitKind::kNone, 50),
                    row("cuMemAlloc", WaitKind::kNone, 50),
                    row("cudaStreamSynchronize", WaitKind::kOther, 50),
                    row("cudaFree", WaitKind::kNone, 3),
                    row("cublasSgemm", WaitKind::kNone, 50),
                    row("aten::add", WaitKind::kNone, 50)};
  FoldSmallRows(0.005, &batch);
  ASSERT_EQ(batch.patterns.size(), 2u);
  EXPECT_EQ(batch.patterns[0].name, "cudaMalloc");
  EXPECT_EQ(batch.patterns[1].name, "cuMemAlloc");
}

TEST(FoldSmallRows, WhatTheTrainingThreadRunsHiddenStaysUnlessItWaits) {
  PatternBatch batch;
  batch.window.end_ns = 1000;
  const auto row = [](FunctionClass function_class, int64_t total_ns,
                      WaitKind wait = WaitKind::kNone) {
    FunctionPattern pattern;
    pattern.function_class = function_class;
    pattern.wait = wait;
    pattern.critical_ns = 1;
    pattern.total_ns = total_ns;
    return pattern;
  };
  batch.patterns = {row(FunctionClass::kPython, 20), row(FunctionClass::kPython, 19),
                    row(FunctionClass::kCpuOp, 20),
                    row(FunctionClass::kPython, 20, WaitKind::kOther)};
  FoldSmallRows(0.005, &batch);
  ASSERT_EQ(batch.patterns.size(), 1u);
  EXPECT_EQ(batch.patterns[0].total_ns, 20);
  EXPECT_EQ(batch.folded_functions, 3u);
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

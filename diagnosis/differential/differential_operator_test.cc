#include "diagnosis/differential/differential_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/training_view.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> Evaluate(TrainingView& job) { return ClaimsOf<DifferentialOperator>(job); }

TEST(DifferentialOperator, NamesTheFunctionThatOnlyOneRankRuns) {
  TrainingView job(16);
  job.RunOnAll("gemm", 80, "", FunctionClass::kGpuCompute).Run(11, "pin_memory", 30);
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 11);
  EXPECT_EQ(findings[0].function, "pin_memory");
  EXPECT_EQ(findings[0].evidence[0].name, "differential_distance");
  EXPECT_DOUBLE_EQ(findings[0].evidence[0].culprit, 15.0 / 16);  // the sample holds the rank itself
  EXPECT_NEAR(findings[0].lost_ns_per_step, 30e6, 1);
}

TEST(DifferentialOperator, ADifferentFunctionThatCostsNoTimeIsSilent) {
  TrainingView job(16);
  for (uint32_t rank = 0; rank < 16; ++rank)
    job.Run(rank, rank == 4 ? "gemm_a" : "gemm_b", 80, "", FunctionClass::kGpuCompute);
  EXPECT_THAT(Evaluate(job.Finish()),
              IsEmpty());  // the autotuner chose another kernel: just as fast
}

TEST(DifferentialOperator, AFunctionThatRanOnceShowsNoBehaviour) {
  TrainingView job(16, 1);
  job.RunOnAll("gemm", 80, "", FunctionClass::kGpuCompute).Run(11, "pin_memory", 30);
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
  for (PatternBatch& batch : job.batches()) {
    for (FunctionPattern& pattern : batch.patterns) pattern.count = 50;
  }
  EXPECT_THAT(Evaluate(job), SizeIs(1));
}

TEST(DifferentialOperator, AFewSampledStacksShowNoBehaviour) {
  for (const uint64_t samples : {20u, 2'000u}) {
    TrainingView job(16);
    job.RunOnAll("gemm", 80, "", FunctionClass::kGpuCompute)
        .Run(11, "pin_memory", 30)
        .SampleStacks(samples);
    EXPECT_THAT(Evaluate(job.Finish()), SizeIs(samples > 100 ? 1 : 0));
  }
}

TEST(DifferentialOperator, AHealthyJobIsSilent) {
  TrainingView job(16);
  job.RunOnAll("gemm", 80, "", FunctionClass::kGpuCompute).RunOnAll("forward", 10);
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

}  // namespace
}  // namespace eroica

#include "diagnosis/report/runtime_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/measurements/training_view.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

// Four ranks; rank 2 is in forward_step for `frame_ms` a step, and below it in calls that are
// hidden by the frame.
TrainingView Job(double frame_ms) {
  TrainingView job(4);
  job.RunOnAll("forward_step", 1, "main").Run(2, "rest of forward_step", frame_ms, "main");
  return job;
}

void AddHidden(TrainingView& job, uint32_t rank, std::string_view name, double ms) {
  job.Run(rank, name, 0, "", FunctionClass::kCpuOp);
  job.batches()[rank].patterns.back().total_ns = static_cast<int64_t>(ms * 8 * kNsPerMs);
}

Finding ClaimAfter(TrainingView& job, double lost_ms) {
  job.Finish();
  Finding claim;
  claim.culprits = {{.rank = 2}};
  claim.function = "schedules.py: forward_step";
  claim.stack = "main";
  claim.function_class = FunctionClass::kPython;
  claim.lost_ns_per_step = lost_ms * kNsPerMs;
  NameRuntimeCalls(CrossRankView(job.batches(), job.summaries()), claim);
  return claim;
}

TEST(NameRuntimeCalls, TheCallsBelowASlowFrameAreNamed) {
  TrainingView job = Job(20);
  AddHidden(job, 2, "cudaMalloc", 11);
  AddHidden(job, 2, "cudaFree", 9);
  const Finding claim = ClaimAfter(job, 20);
  EXPECT_EQ(claim.function, "cudaMalloc");
  EXPECT_EQ(claim.stack, "main > schedules.py: forward_step");
  EXPECT_THAT(claim.title,
              HasSubstr("That time goes into cudaMalloc and cudaFree, 20.0 ms a step."));
  EXPECT_THAT(claim.suggested_action, HasSubstr("fragmented"));
}

TEST(NameRuntimeCalls, CallsThatAllRanksMakeAreNotWhatMakesOneSlow) {
  TrainingView job = Job(20);
  for (uint32_t rank = 0; rank < 4; ++rank) AddHidden(job, rank, "cudaLaunchKernel", 18);
  EXPECT_EQ(ClaimAfter(job, 20).function, "schedules.py: forward_step");
}

TEST(NameRuntimeCalls, CallsThatExplainLittleStayUnnamed) {
  TrainingView job = Job(20);
  AddHidden(job, 2, "cudaMalloc", 6);
  EXPECT_EQ(ClaimAfter(job, 20).function, "schedules.py: forward_step");
}

}  // namespace
}  // namespace eroica

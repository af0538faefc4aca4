// SlowRankOperator where ranks wait for a processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/slow_rank/slow_rank_operator.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TrainingView CalmJob() {
  TrainingView job(4);
  job.RunOnAll("forward", 40, "train > main").RunOnAll("backward", 40, "train > main");
  return job;
}

TEST(WaitsForAProcessor, WhoIsNotLetRunIsNamedWithWhoRunsInstead) {
  TrainingView job = CalmJob();
  job.Run(1, "(runnable, waiting for a processor)", 36).Run(1, "(processor used by stress-ng)", 0);
  const std::vector<Finding> findings = ClaimsOf<SlowRankOperator>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "(runnable, waiting for a processor)");
  EXPECT_THAT(findings[0].suggested_action, HasSubstr("the processors of rank 1"));
  EXPECT_THAT(findings[0].suggested_action, HasSubstr("(processor used by stress-ng)"));
}

// The waits of a host that is short of processors are shared out unevenly, now so and now so.
TEST(WaitsForAProcessor, WaitsThatPeersHaveTooMustLast) {
  for (const double peers_ms : {0.0, 10.0, 30.0}) {
    TrainingView job = CalmJob();
    job.RunOnAll("(runnable, waiting for a processor)", peers_ms);
    job.Run(1, "(runnable, waiting for a processor)", 36);
    const std::vector<Finding> findings = ClaimsOf<SlowRankOperator>(job.Finish());
    ASSERT_THAT(findings, SizeIs(1)) << peers_ms;
    const Measure* seen = FindMeasure(findings[0], kSeenInWindows);
    ASSERT_EQ(seen != nullptr, peers_ms > 20) << peers_ms;
    if (seen != nullptr) {
      EXPECT_EQ(seen->threshold, SlowRankOptions().windows_of_shared_waits);
    }
    EXPECT_EQ(findings[0].caveats.empty(), seen == nullptr);
  }
}

// Time without events is lengthened by waits for a processor as any function is: 12 ms more of it
// are 24 ms where ranks wait for as long as they run.
TEST(WaitsForAProcessor, TimeWithoutEventsIsLengthenedByWaitsForAProcessor) {
  TrainingView job(4);
  job.RunOnAll("forward", 30, "main", FunctionClass::kCpuOp)
      .RunOnAll("(runnable, waiting for a processor)", 30);
  job.Run(1, "(runnable, waiting for a processor)", 12);
  for (uint32_t step = 0; step < 8; ++step) job.Jitter(1, step, 12);
  const std::vector<Finding> findings = ClaimsOf<SlowRankOperator>(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "");
  const Measure* unattributed = FindMeasure(findings[0], "unattributed_time_per_step");
  ASSERT_NE(unattributed, nullptr);
  EXPECT_NEAR(unattributed->culprit, 24e6, 1e3);
}

}  // namespace
}  // namespace eroica

// SlowRankOperator where ranks wait for a processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnosis/measurements/thread_function.h"
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

// So do the workers that load its batches.
TEST(WaitsForAProcessor, WorkersOfTheDataLoaderWaitAsWell) {
  const std::string name = "(runnable, waiting for a processor: the data loader's workers)";
  ASSERT_TRUE(name.ends_with(kOfLoaderWorkers));
  for (const bool short_host : {false, true}) {
    TrainingView job = CalmJob();
    job.RunOnAll(name, short_host ? 10 : 0).Run(1, name, 36);
    const std::vector<Finding> findings = ClaimsOf<SlowRankOperator>(job.Finish());
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].function, name);
    EXPECT_THAT(findings[0].suggested_action, HasSubstr("how many data loader workers"));
    EXPECT_EQ(FindMeasure(findings[0], kSharedProcessors) != nullptr, short_host);
  }
}

// The waits of a host that is short of processors are shared out unevenly, now so and now so.
TEST(WaitsForAProcessor, WhereOthersWaitTooItMayBeChance) {
  for (const double others_ms : {0.0, 0.5, 10.0, 30.0}) {
    TrainingView job = CalmJob();
    job.RunOnAll("(runnable, waiting for a processor)", others_ms);
    job.Run(1, "(runnable, waiting for a processor)", 36);
    const std::vector<Finding> findings = ClaimsOf<SlowRankOperator>(job.Finish());
    ASSERT_THAT(findings, SizeIs(1)) << others_ms;
    const Measure* shared = FindMeasure(findings[0], kSharedProcessors);
    ASSERT_EQ(shared != nullptr, others_ms > 1) << others_ms;
    EXPECT_EQ(findings[0].caveats.empty(), shared == nullptr);
    if (shared == nullptr) continue;
    EXPECT_NEAR(shared->culprit, (others_ms + 36) * 1e6, 1e3);
    EXPECT_NEAR(shared->peers, others_ms * 1e6, 1e3);
  }
}

// Threads beside the rank's own get no processor either, and what it runs lasts. A function
// that this rank alone runs is no chance, nor is one that makes it later than its waits do.
TEST(WaitsForAProcessor, NorMayWhatPeersRunTooBeTheRanksOwn) {
  struct Case {
    double own_wait_ms, peers_ms;
    bool shared;
  };
  for (const Case& sample : {Case{40, 10, true}, Case{10, 10, false}, Case{40, 0, false}}) {
    TrainingView job = CalmJob();
    job.RunOnAll("multiply", sample.peers_ms, "train > main");
    job.RunOnAll("(runnable, waiting for a processor)", sample.own_wait_ms);
    job.Run(1, "multiply", 30, "train > main");
    const std::vector<Finding> findings = ClaimsOf<SlowRankOperator>(job.Finish());
    ASSERT_THAT(findings, SizeIs(1)) << sample.own_wait_ms << " " << sample.peers_ms;
    EXPECT_EQ(findings[0].function, "multiply");
    EXPECT_EQ(FindMeasure(findings[0], kSharedProcessors) != nullptr, sample.shared)
        << sample.own_wait_ms << " " << sample.peers_ms;
  }
}

// A rank that others wait for waits for processors where all of them wait for it: what makes it
// late costs no more for that.
TEST(WaitsForAProcessor, WaitsAreNotChargedToAFunction) {
  for (const double others_ms : {0.0, 4.0}) {
    TrainingView job = CalmJob();
    job.RunOnAll("(runnable, waiting for a processor)", others_ms);
    job.Run(1, "sleep", 30, "train > main").Run(1, "(runnable, waiting for a processor)", 10);
    const std::vector<Finding> findings = ClaimsOf<SlowRankOperator>(job.Finish());
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].function, "sleep");
    EXPECT_NEAR(findings[0].lost_ns_per_step, 30e6, 1e5);
    EXPECT_THAT(findings[0].title, HasSubstr("by 30.0 ms"));
    EXPECT_THAT(findings[0].explanation, HasSubstr("10.0 ms of it are waits for a processor"));
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
  EXPECT_NE(FindMeasure(findings[0], kSharedProcessors), nullptr) << "a wait that no sample saw";
  const Measure* unattributed = FindMeasure(findings[0], "unattributed_time_per_step");
  ASSERT_NE(unattributed, nullptr);
  EXPECT_NEAR(unattributed->culprit, 24e6, 1e3);
}

}  // namespace
}  // namespace eroica

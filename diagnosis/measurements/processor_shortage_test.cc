#include "diagnosis/measurements/processor_shortage.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/measurements/training_view.h"

namespace eroica {
namespace {

// Two hosts of eight ranks each.
TEST(ProcessorShortage, IsTheHostsAndNotTheRanks) {
  TrainingView job(16);
  job.RunOnAll("forward", 90);
  const std::string wait = std::string(kWaitForProcessor) + ")";
  for (uint32_t rank = 0; rank < 4; ++rank) job.Run(rank, wait, 20);
  job.Finish();
  const CrossRankView view(job.batches(), job.summaries());
  const double share = ShareOthersWaitForProcessors(view, 0);
  EXPECT_GT(share, 0.05);
  EXPECT_LT(share, 0.2) << "three others of seven, a fifth of a step";
  EXPECT_GT(ShareOthersWaitForProcessors(view, 7), share) << "four others of seven";
  EXPECT_EQ(ShareOthersWaitForProcessors(view, 8), 0) << "the other host";
  const ProcessorWaits waits = ProcessorWaitsOf(view, 0);
  EXPECT_NEAR(waits.own_ns, 20e6, 1e3);
  EXPECT_NEAR(waits.others_ns, share * waits.step_ns, 1);
  EXPECT_TRUE(waits.are_shared());
  EXPECT_FALSE(ProcessorWaitsOf(view, 8).are_shared());
}

// Windows of 160 ms, in which the others wait in turn, and in this one nobody does.
TEST(ProcessorShortage, OfShortWindowsIsThatOfTheLastSeconds) {
  const std::string wait = std::string(kWaitForProcessor) + ")";
  const auto window = [&wait](double waits_ms, double work_ms) {
    TrainingView job(4, 8);
    job.RunOnAll("forward", work_ms).Run(1, wait, waits_ms);
    return std::move(job.Finish());
  };
  for (const auto& [work_ms, shared] : {std::pair(20.0, true), {2'000.0, false}}) {
    TrainingView before = window(8, 20);
    const std::vector<PatternBatch> history(
        4, CrossRankView(before.batches(), before.summaries()).profile());
    TrainingView now = window(0, work_ms);
    const CrossRankView view(now.batches(), now.summaries(), {.profiles = history});
    EXPECT_EQ(ProcessorWaitsOf(view, 0).are_shared(), shared) << work_ms;
    EXPECT_EQ(ShareOthersWaitForProcessors(view, 0), 0);
  }
}

}  // namespace
}  // namespace eroica

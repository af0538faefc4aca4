#include "diagnosis/measurements/processor_shortage.h"

#include <gtest/gtest.h>

#include <string>

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
  const double share = ShareWaitingForProcessors(view, 0);
  EXPECT_GT(share, 0.05);
  EXPECT_LT(share, 0.2) << "half of the ranks, a fifth of a step";
  EXPECT_EQ(ShareWaitingForProcessors(view, 7), share) << "it waits for none itself";
  EXPECT_EQ(ShareWaitingForProcessors(view, 8), 0) << "the other host";
  EXPECT_LT(ShareOthersWaitForProcessors(view, 0), share) << "three others of seven";
  EXPECT_GT(ShareOthersWaitForProcessors(view, 7), share) << "four others of seven";
}

}  // namespace
}  // namespace eroica

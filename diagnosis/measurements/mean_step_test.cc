#include "diagnosis/measurements/mean_step.h"

#include <gtest/gtest.h>

#include <limits>

namespace eroica {
namespace {

TEST(MeanStep, OfAllSteps) {
  PatternBatch batch;
  batch.steps = {{.id = 1, .duration_ns = 100, .peer_wait_ns = 20},
                 {.id = 2, .duration_ns = 200, .peer_wait_ns = 40}};
  const MeanStep mean = MeanStepOf(batch);
  EXPECT_EQ(mean.steps, 2);
  EXPECT_EQ(mean.duration_ns, 150);
  EXPECT_EQ(mean.wait_ns, 30);
  EXPECT_EQ(mean.busy_ns(), 120);
  EXPECT_EQ(PerStep(batch, 90), 45);
}

TEST(MeanStep, WithoutStepsThereIsNone) {
  EXPECT_EQ(MeanStepOf(PatternBatch()).steps, 0);
  EXPECT_EQ(MeanStepOf(PatternBatch()).duration_ns, 0);
  EXPECT_EQ(PerStep(PatternBatch(), 90), 90);
}

TEST(MeanStep, TimesThatCannotBeDoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  PatternBatch batch;
  batch.steps = {{.id = 1, .duration_ns = kMost}, {.id = 2, .duration_ns = kMost}};
  EXPECT_EQ(MeanStepOf(batch).duration_ns, static_cast<double>(kMost));
}

}  // namespace
}  // namespace eroica

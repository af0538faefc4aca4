#include "diagnosis/measurements/sampled_stacks.h"

#include <gtest/gtest.h>

#include <random>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

TEST(SampledStacks, ASampleStandsForItsPartOfTheWindow) {
  PatternBatch batch;
  batch.window = {.start_ns = 0, .end_ns = 2'000'000'000};
  EXPECT_EQ(SampleNs(batch), 0) << "traced";
  batch.levels = {{.resource = Resource::kCpu, .samples = 7},
                  {.resource = Resource::kStacks, .samples = 40}};
  EXPECT_EQ(SampleNs(batch), 50 * kNsPerMs);
  batch.levels[1].samples = 0;
  EXPECT_EQ(SampleNs(batch), 0);
}

TEST(SampledStacks, WaitsAreMeasuredOtherwise) {
  FunctionPattern pattern{.function_class = FunctionClass::kPython};
  EXPECT_TRUE(IsSeenInStacks(pattern));
  pattern.wait = WaitKind::kOther;
  EXPECT_FALSE(IsSeenInStacks(pattern));
  pattern.name = "(waiting for the GIL)";
  EXPECT_TRUE(IsSeenInStacks(pattern));
  pattern = {.function_class = FunctionClass::kGpuCompute};
  EXPECT_FALSE(IsSeenInStacks(pattern));
}

TEST(SampledStacks, TracedFunctionsHaveNoError) {
  EXPECT_GT(SamplingErrorsBetween(1, 0, 0), 1e300);
}

// Of functions that are as long as their peers', hardly any is five errors off; of one that takes a
// third of the window all are.
TEST(SampledStacks, ErrorsAreStandardErrors) {
  std::mt19937_64 random(3);
  for (const double expected : {0.5, 3.0, 12.0, 100.0}) {
    std::poisson_distribution<int> samples(expected);
    int above_two = 0;
    int above_five = 0;
    for (int i = 0; i < 20'000; ++i) {
      const double errors =
          SamplingErrorsBetween(static_cast<double>(50 * kNsPerMs) * samples(random),
                                50 * kNsPerMs * expected, 50 * kNsPerMs);
      above_two += errors > 2 ? 1 : 0;
      above_five += errors > kSamplingErrors ? 1 : 0;
    }
    EXPECT_LT(above_two, 20'000 * 0.04) << expected;
    EXPECT_EQ(above_five, 0) << expected;
  }
  EXPECT_GT(SamplingErrorsBetween(13 * 50 * kNsPerMs, 0, 50 * kNsPerMs), kSamplingErrors);
}

}  // namespace
}  // namespace eroica

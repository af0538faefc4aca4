#include "tests/evaluation/simulate/job_variation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace eroica::simulate {
namespace {

// 8 hosts of 8 ranks: tensor 2, data 8, pipeline 4.
SimulatedJob Job() {
  SimulatedJob job;
  job.layout = {.tensor = 2, .data = 8, .pipeline = 4};
  job.steps = 4'000;
  return job;
}

StepEffects EffectsAt(const JobVariation& variation, uint32_t rank, uint32_t step) {
  StepEffects effects;
  variation.AddTo(rank, step, effects);
  return effects;
}

double LogOf(Factor factor) { return std::log(static_cast<double>(factor) / kUnit); }

// Of a rank's steps: the standard deviation, and the correlation with the step before.
struct Series {
  double deviation = 0;
  double correlation = 0;
};
Series SeriesOf(const std::function<double(uint32_t)>& at, uint32_t steps) {
  double mean = 0;
  for (uint32_t step = 0; step < steps; ++step) mean += at(step) / steps;
  double squares = 0;
  double products = 0;
  for (uint32_t step = 1; step < steps; ++step) {
    squares += (at(step) - mean) * (at(step) - mean);
    products += (at(step) - mean) * (at(step - 1) - mean);
  }
  return {.deviation = std::sqrt(squares / (steps - 1)), .correlation = products / squares};
}

TEST(JobVariation, OfAnEvenJobChangesNothing) {
  FunctionCatalog catalog;
  const JobVariation variation(Job(), catalog, 0);
  const StepEffects effects = EffectsAt(variation, 5, 7);
  EXPECT_EQ(effects.kernel, StepEffects{}.kernel);
  EXPECT_EQ(effects.host, kUnit);
  EXPECT_EQ(effects.work, kUnit);
  EXPECT_TRUE(effects.micro_batches.empty());
  EXPECT_TRUE(effects.insertions.empty());
  EXPECT_TRUE(catalog.functions().empty());
}

TEST(JobVariation, StepsHaveTheirNoiseInCommonAndWithTheirNeighbors) {
  SimulatedJob job = Job();
  job.noise = {.step_kernel = 0.02, .step_host = 0.05, .correlation = 0.7};
  FunctionCatalog catalog;
  const JobVariation variation(job, catalog, 0);
  const Series kernel = SeriesOf(
      [&](uint32_t step) { return LogOf(EffectsAt(variation, 5, step).kernel[0]); }, 4'000);
  EXPECT_NEAR(kernel.deviation, 0.02, 0.002);
  EXPECT_NEAR(kernel.correlation, 0.7, 0.05);
  const Series host =
      SeriesOf([&](uint32_t step) { return LogOf(EffectsAt(variation, 5, step).host); }, 4'000);
  EXPECT_NEAR(host.deviation, 0.05, 0.005);
  EXPECT_NEAR(host.correlation, 0.7, 0.05);
  EXPECT_EQ(EffectsAt(variation, 5, 9).kernel[0], EffectsAt(variation, 5, 9).kernel[2]);
  EXPECT_NE(EffectsAt(variation, 5, 9).kernel[0], EffectsAt(variation, 6, 9).kernel[0]);
}

TEST(JobVariation, MicroBatchesAreThoseOfTheReplicaOrOfAll) {
  SimulatedJob job = Job();
  job.workload.micro_batch_spread = 0.3;
  FunctionCatalog catalog;
  const JobVariation own(job, catalog, 0);
  const auto lengths = [](const JobVariation& variation, uint32_t rank, uint32_t step) {
    return EffectsAt(variation, rank, step).micro_batches;
  };
  EXPECT_EQ(lengths(own, 4, 3).size(), job.workload.micro_batches);
  EXPECT_EQ(lengths(own, 4, 3), lengths(own, 5, 3)) << "tensor ranks share their data";
  EXPECT_EQ(lengths(own, 4, 3), lengths(own, 4 + 48, 3)) << "stages share their data";
  EXPECT_NE(lengths(own, 4, 3), lengths(own, 6, 3));
  EXPECT_NE(lengths(own, 4, 3), lengths(own, 4, 4));
  job.workload.micro_batches_shared = true;
  const JobVariation shared(job, catalog, 0);
  EXPECT_EQ(lengths(shared, 4, 3), lengths(shared, 6, 3));
  EXPECT_NE(lengths(shared, 4, 3), lengths(shared, 4, 4));
}

TEST(JobVariation, LoadersAreWaitedForNowAndThenOnEveryRank) {
  SimulatedJob job = Job();
  job.workload.loader_wait = {.rate = 0.1, .shortest_ns = 1'000'000, .longest_ns = 50'000'000};
  FunctionCatalog catalog;
  const JobVariation variation(job, catalog, 0);
  std::vector<int64_t> waits;
  for (uint32_t rank = 0; rank < 8; ++rank) {
    uint32_t waited = 0;
    for (uint32_t step = 0; step < 1'000; ++step) {
      for (const HostInsertion& insertion : EffectsAt(variation, rank, step).insertions) {
        EXPECT_EQ(insertion.phase, Phase::kData);
        EXPECT_EQ(catalog.functions()[insertion.function].wait, WaitKind::kOther);
        waits.push_back(insertion.duration_ns);
        ++waited;
      }
    }
    EXPECT_NEAR(waited, 100, 40) << rank;
  }
  std::sort(waits.begin(), waits.end());
  EXPECT_GE(waits.front(), 1'000'000);
  EXPECT_LE(waits.back(), 50'000'000);
  EXPECT_GT(waits.back(), 20'000'000);
  EXPECT_NEAR(static_cast<double>(waits[waits.size() / 2]), 1.96e6, 0.2e6);
}

}  // namespace
}  // namespace eroica::simulate

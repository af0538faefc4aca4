#include "diagnosis/measurements/busy_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "diagnosis/measurements/synthetic_job.h"
#include "diagnosis/measurements/training_view.h"
#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

// A job of one role in which busy time varies by rank and step.
SyntheticJob UnevenJob(uint32_t ranks, uint32_t seed) {
  SyntheticJob job(ranks);
  std::mt19937 random(seed);
  for (PatternBatch& batch : job.batches) {
    for (StepRecord& step : batch.steps)
      step.peer_wait_ns = static_cast<int64_t>(random() % 300) * 1'000'000;
  }
  return job;
}

double Busy(const StepRecord& step) {
  return static_cast<double>(step.duration_ns - step.peer_wait_ns);
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// As the header states it, one rank, step and peer after the other.
double ExcessByDefinition(const SyntheticJob& job, size_t rank) {
  double sum = 0;
  const size_t steps = job.batches[rank].steps.size();
  for (size_t s = 0; s < steps; ++s) {
    std::vector<double> peers;
    for (size_t other = 0; other < job.batches.size(); ++other) {
      if (other != rank) peers.push_back(Busy(job.batches[other].steps[s]));
    }
    sum += Busy(job.batches[rank].steps[s]) - MedianOf(peers);
  }
  return sum / static_cast<double>(steps);
}

TEST(BusyTime, ExcessIsOverTheMedianOfThePeersInEachStep) {
  for (const uint32_t ranks : {2u, 3u, 4u, 5u, 8u, 63u, 130u}) {
    const SyntheticJob job = UnevenJob(ranks, ranks);
    const CrossRankView view(job.batches, job.summaries);
    const std::vector<BusyTime>& compared = view.busy_times();
    ASSERT_EQ(compared.size(), ranks);
    for (const BusyTime& busy : compared) {
      EXPECT_NEAR(busy.excess_ns, ExcessByDefinition(job, busy.rank), 1e-3)
          << ranks << " ranks, rank " << busy.rank;
      EXPECT_EQ(busy.peers, ranks - 1);
    }
  }
}

// Trace files are cut, events are lost: what a rank told still counts, and takes nothing from the
// others.
TEST(BusyTime, ARankThatLacksStepsIsComparedOverThoseItHas) {
  SyntheticJob job = UnevenJob(4, 1);
  job.batches[1].steps.resize(6);
  const CrossRankView view(job.batches, job.summaries);
  ASSERT_EQ(view.busy_times().size(), 4u);
  EXPECT_EQ(view.busy_times()[1].steps, 6u);
  EXPECT_EQ(view.busy_times()[0].steps, 10u);
  SyntheticJob six = UnevenJob(4, 1);
  for (PatternBatch& batch : six.batches) batch.steps.resize(6);
  EXPECT_NEAR(view.busy_times()[1].excess_ns, ExcessByDefinition(six, 1), 1e-3);

  job.batches[1].steps.resize(4);
  const CrossRankView little(job.batches, job.summaries);
  EXPECT_EQ(little.busy_times().size(), 3u) << "less than half of the steps say too little";
}

TEST(BusyTime, ManyEqualRanksLeaveTheOneThatDiffers) {
  SyntheticJob job(9);
  for (PatternBatch& batch : job.batches) {
    for (StepRecord& step : batch.steps)
      step.peer_wait_ns = batch.rank.value == 4 ? 0 : 200'000'000;
  }
  const CrossRankView view(job.batches, job.summaries);
  for (const BusyTime& busy : NotEmpty(view.busy_times())) {
    EXPECT_DOUBLE_EQ(busy.excess_ns, busy.rank == 4 ? 200e6 : 0.0);
    EXPECT_EQ(busy.slow_steps, busy.rank == 4 ? 10u : 0u);
  }
}

// Two peers that happen to be equal do not show that a third rank must be.
TEST(BusyTime, TheSpreadOfFewPeersIsModeratedByWhatHealthyRanksDifferBy) {
  const auto noise_of = [](uint32_t ranks, bool host_only) {
    SyntheticJob job(ranks);
    for (PatternBatch& batch : job.batches) {
      batch.host_only = host_only;
      for (StepRecord& step : batch.steps)
        step = {.id = step.id, .duration_ns = 100'000'000, .peer_wait_ns = 0};
    }
    const CrossRankView view(job.batches, job.summaries);
    return view.busy_times().front().noise_ns;
  };
  EXPECT_NEAR(noise_of(3, true), 0.05 * 1e8 * std::sqrt(4.0 / 5), 1e3);
  EXPECT_LT(noise_of(33, true), 0.4 * noise_of(3, true)) << "many equal peers show it";
  EXPECT_LT(noise_of(3, false), 0.01 * 1e8) << "devices show their own";
}

TEST(BusyTime, SpreadOfABigRoleIsThatOfItsPeers) {
  // the first size at which the role's own spread stands for that of the peers
  SyntheticJob job(65);
  for (PatternBatch& batch : job.batches) {
    for (StepRecord& step : batch.steps) step.peer_wait_ns = batch.rank.value * 3'000'000;
  }
  const CrossRankView view(job.batches, job.summaries);
  std::vector<double> means;
  for (const BusyTime& busy : view.busy_times()) means.push_back(busy.busy_ns);
  for (const BusyTime& busy : view.busy_times()) {
    std::vector<double> peers = means;
    peers.erase(peers.begin() + busy.rank);
    const double median = MedianOf(peers);
    for (double& mean : peers) mean = std::abs(mean - median);
    EXPECT_NEAR(busy.noise_ns, 1.4826 * MedianOf(peers), 0.1 * busy.noise_ns);
  }
}

TEST(BusyTime, ALoneRankIsComparedWithNobody) {
  const SyntheticJob job(1);
  EXPECT_TRUE(CrossRankView(job.batches, job.summaries).busy_times().empty());
}

// A job whose inputs are drawn for each step; `shared` ranks in a row get the same.
std::vector<BusyTime> WithDrawnInputs(uint32_t ranks, uint32_t shared, uint32_t slow_ranks,
                                      double longer, uint64_t seed) {
  constexpr uint32_t kSteps = 4;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> length(0, 10);
  TrainingView job(ranks, kSteps);
  job.RunOnAll("forward", 100);
  for (uint32_t step = 0; step < kSteps; ++step) {
    double drawn = 0;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      if (rank % shared == 0) drawn = length(random);
      job.Jitter(rank, step, drawn + (rank < slow_ranks ? longer : 0));
    }
  }
  job.Finish();
  return CrossRankView(job.batches(), job.summaries()).busy_times();
}

// Over the ranks of such a job.
double LeastPValue(uint32_t ranks, uint32_t shared, uint32_t slow_ranks, double longer,
                   uint64_t seed) {
  double least = 1;
  for (const BusyTime& busy : WithDrawnInputs(ranks, shared, slow_ranks, longer, seed))
    least = std::min(least, busy.p_value);
  return least;
}

TEST(BusyTime, AsksForThePValueOfAnExcessWhereThereIsOne) {
  for (const BusyTime& busy : WithDrawnInputs(16, 1, 1, 60, 3)) {
    ASSERT_GT(busy.error_ns, 0);
    EXPECT_EQ(busy.p_value<1, busy.excess_ns> 0) << busy.rank;
  }
}

TEST(BusyTime, PValueOfRanksThatDifferByStepIsNotSmall) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    EXPECT_GT(LeastPValue(8, 1, 0, 0, seed), 1e-6) << seed;
    EXPECT_GT(LeastPValue(16, 4, 0, 0, seed), 1e-6) << seed << ", in fours";
  }
}

TEST(BusyTime, PValueOfARankThatIsSlowInAllStepsIs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_LT(LeastPValue(32, 1, 2, 100, seed), 1e-10) << seed;
    EXPECT_LT(LeastPValue(64, 4, 4, 120, seed), 1e-10) << seed << ", in fours";
  }
}

// Ranks that are equally busy in ten steps, of which one loses a twentieth of each from `first` on.
std::vector<BusyTime> WithOnset(size_t first) {
  SyntheticJob job(8);
  for (PatternBatch& batch : job.batches) {
    for (StepRecord& step : batch.steps) step.peer_wait_ns = step.duration_ns / 5;
    if (batch.rank != RankId{3}) continue;
    for (size_t s = first; s < batch.steps.size(); ++s)
      batch.steps[s].peer_wait_ns -= batch.steps[s].duration_ns / 20;
  }
  const CrossRankView view(job.batches, job.summaries);
  return {view.busy_times().begin(), view.busy_times().end()};
}

TEST(BusyTime, AnExcessThatBeginsWithinTheWindowIsMeasuredFromThere) {
  const std::vector<BusyTime> compared = WithOnset(5);
  const BusyTime& slow = compared[3];
  ASSERT_TRUE(slow.begins_within());
  EXPECT_EQ(slow.watched_steps(), 5u);
  EXPECT_EQ(slow.slow_watched(), 5u);
  EXPECT_LT(slow.p_value_watched(), slow.p_value) << "the steps before are no noise of those after";
  for (const BusyTime& busy : compared)
    EXPECT_TRUE(busy.rank == slow.rank || !busy.begins_within());
}

TEST(BusyTime, WhatAllStepsShowOrTheLastTwoBeginsNowhereWithin) {
  EXPECT_FALSE(WithOnset(0)[3].begins_within());
  EXPECT_FALSE(WithOnset(8)[3].begins_within());
}

// Steps that go with the one before tell less than as many that do not: the same lengths, in
// another order.
TEST(BusyTime, StepsThatResembleTheOneBeforeCountForFewer) {
  const auto p_value_of_rank_3 = [](const std::vector<double>& of_step) {
    TrainingView job(16, 8);
    for (uint32_t rank = 0; rank < 16; ++rank) {
      job.Run(rank, "forward", rank == 3 ? 106 : 100);
      for (uint32_t step = 0; step < 8; ++step)
        job.Jitter(rank, step, 4 + of_step[(step + rank % 2 * 4) % 8]);
    }
    job.Finish();
    const CrossRankView view(job.batches(), job.summaries());
    return view.busy_times()[3].p_value;
  };
  const double independent = p_value_of_rank_3({4, -4, 4, 4, -4, -4, 4, -4});
  const double slow_and_fast = p_value_of_rank_3({4, 4, 4, 4, -4, -4, -4, -4});
  EXPECT_GT(slow_and_fast, 3 * independent);
}

}  // namespace
}  // namespace eroica

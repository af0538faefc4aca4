#include "diagnosis/step_accounting/step_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "diagnosis/statistics/peer_median.h"
#include "diagnosis/step_accounting/airport_share.h"
#include "diagnosis/step_accounting/staged_job.h"
#include "diagnosis/step_accounting/step_table.h"

namespace eroica {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;
using ::testing::SizeIs;

constexpr double kMs = 1e6;
// In ms a step; empty where it is not known.
std::vector<double> LostByRank(const CrossRankView& view) {
  std::vector<RankId> all;
  for (const RankView& rank : view.ranks()) all.push_back(rank.rank);
  std::vector<double> lost = LostPerStep(view, all).value_or(std::vector<double>());
  for (double& ns : lost) ns /= kMs;
  return lost;
}

// Rank 1's loader takes 30 ms longer; the others wait for it in the backward pass.
StagedJob SlowLoader() {
  StagedJob job(4, 5, {10, 40, 80, 10}, 35);
  return job.Set(1, {40, 40, 50, 10}, 5);
}

TEST(PeerMedian, IsTheMedianOfTheOthers) {
  std::mt19937 random(7);
  for (size_t count = 2; count < 9; ++count) {
    std::vector<double> values(count);
    for (double& value : values) value = static_cast<double>(random() % 5);
    for (size_t left_out = 0; left_out < count; ++left_out) {
      std::vector<double> others;
      for (size_t i = 0; i < count; ++i) {
        if (i != left_out) others.push_back(values[i]);
      }
      std::sort(others.begin(), others.end());
      const size_t n = others.size();
      const double expected = n % 2 == 1 ? others[n / 2] : (others[n / 2 - 1] + others[n / 2]) / 2;
      EXPECT_EQ(PeerMedian(values).Without(values[left_out]), expected)
          << count << " values without " << values[left_out];
    }
  }
}

TEST(LineUpSteps, LeavesOutWhatFewRanksSawAndWhatCannotBe) {
  StagedJob job = SlowLoader();
  job.batches()[0].steps.push_back({.id = 9, .duration_ns = 5});
  job.batches()[1].steps[0].peer_wait_ns = -1;
  job.batches()[2].steps[1].duration_ns = std::numeric_limits<int64_t>::max();
  job.batches()[3].steps[2].stage_ns[0] += 1;  // no longer adds up
  const CrossRankView view = job.View();
  const std::vector<StepRow> rows = LineUpSteps(view);
  ASSERT_THAT(rows, SizeIs(5));
  EXPECT_THAT(rows[0].rank, SizeIs(3));
  EXPECT_THAT(rows[1].rank, SizeIs(3));
  EXPECT_THAT(rows[2].rank, SizeIs(4));
  EXPECT_FALSE(rows[2].marked);
  EXPECT_TRUE(rows[3].marked);
}

TEST(StepAccount, ChargesTheCulpritWithItsExcess) {
  EXPECT_THAT(LostByRank(SlowLoader().View()), ElementsAre(0, 30, 0, 0));
}

// Local SGD: rank 1 computes 30 ms longer in each step, and the others wait for it at the begin of
// every fourth one.
StagedJob AveragesEveryFourthStep() {
  StagedJob job(4, 8, {5, 20, 20, 5});
  for (uint32_t step = 0; step < 8; ++step) {
    for (uint32_t rank = 0; rank < 4; ++rank) {
      if (rank != 1 && step % 4 == 3) job.SetStep(rank, step, {125, 20, 20, 5}, 120);
    }
    job.SetStep(1, step, {5, 50, 20, 5}, 0);
  }
  return job;
}

TEST(StepAccount, IsNotTakenWhereRanksMeetInSomeStepsAlone) {
  EXPECT_THAT(LostByRank(AveragesEveryFourthStep().View()), IsEmpty());
}

TEST(StepAccount, NobodyWhoWaitsInAnyStepIsNothingLost) {
  StagedJob job(4, 5, {10, 40, 80, 10});
  job.Set(1, {40, 40, 80, 10}, 0);
  EXPECT_THAT(LostByRank(job.View()), ElementsAre(0, 0, 0, 0));
}

TEST(StepAccount, WhatTheWaitingHidesBelongsToTheBackwardPass) {
  // All leave the backward pass together: only the waiting tells that rank 2 works 20 ms longer in
  // it.
  StagedJob job(4, 5, {10, 40, 80, 10}, 25);
  job.Set(2, {10, 40, 80, 10}, 5);
  EXPECT_THAT(LostByRank(job.View()), ElementsAre(0, 0, 20, 0));
}

TEST(StepAccount, ExcessesWithASynchronizationBetweenThemBothCount) {
  // Rank 0 is 30 ms late in the data stage, all meet in forward, then rank 3 works 20 ms longer in
  // backward.
  StagedJob job(4, 5, {10, 70, 80, 10}, 55);
  job.Set(0, {40, 40, 80, 10}, 25).Set(3, {10, 70, 80, 10}, 35);
  EXPECT_THAT(LostByRank(job.View()), ElementsAre(30, 0, 0, 20));
}

TEST(StepAccount, ExcessesSideBySideCountOnce) {
  // The same, but nobody meets before the backward pass: rank 3's 20 ms pass while all wait for
  // rank 0.
  StagedJob job(4, 5, {10, 40, 80, 10}, 35);
  job.Set(0, {40, 40, 50, 10}, 5).Set(3, {10, 40, 80, 10}, 15);
  EXPECT_THAT(LostByRank(job.View()), ElementsAre(30, 0, 0, 0));
}

TEST(StepAccount, ADelayBehindTheLastSynchronizationIsWaitedForInTheNextStep) {
  // Rank 2 calls back for 30 ms after its optimizer, and so begins each step 30 ms later. What the
  // others do before they meet varies: who began early waits longer.
  StagedJob job(4, 4, {5, 20, 50, 5}, 32);
  for (uint32_t step = 0; step < 4; ++step) {
    job.SetStep(step % 2, step, {5, 20, 70, 5}, 52);
    job.SetStep(2, step, {5, 20, 20, 35}, 2);
  }
  EXPECT_THAT(LostByRank(job.View()), ElementsAre(0, 0, 30, 0));
}

TEST(StepAccount, RanksLateTogetherShareTheLoss) {
  StagedJob job(6, 5, {10, 40, 80, 10}, 35);
  job.Set(1, {40, 40, 50, 10}, 5).Set(4, {30, 40, 60, 10}, 15);  // 30 and 20 ms late
  EXPECT_THAT(LostByRank(job.View()),
              ElementsAre(0, 20, 0, 0, 10, 0));  // 20 ms for both, 10 more for rank 1 alone
}

TEST(StepAccount, AnotherRoleIsNotLate) {
  StagedJob job(4, 5, {10, 40, 40, 10}, 0);
  job.Set(2, {10, 20, 70, 0}, 40).Set(3, {10, 20, 70, 0}, 40);
  for (uint32_t rank = 0; rank < 4; ++rank) job.Role(rank, rank < 2 ? "stage0" : "stage1");
  EXPECT_THAT(LostByRank(job.View()), ElementsAre(0, 0, 0, 0));
}

TEST(StepAccount, OfStepsWithoutMarksNothingIsKnown) {
  StagedJob job = SlowLoader();
  job.batches()[2].steps[1].stage_ns = {};
  EXPECT_THAT(LostByRank(job.View()), IsEmpty());
  EXPECT_THAT(LostByRank(CrossRankView({}, {})), IsEmpty());
}

TEST(StepAccount, NothingIsLostWhereNobodyWaited) {
  StagedJob job(4, 5, {10, 40, 80, 10}, 0);
  job.Set(1, {40, 40, 80, 10}, 0);  // longer, and nobody cares
  EXPECT_THAT(LostByRank(job.View()), ElementsAre(0, 0, 0, 0));
}

// By definition: every slice of lateness is paid by all who are later than it.
TEST(ShareAirport, EachSliceIsPaidByAllWhoAreLater) {
  std::mt19937 random(3);
  for (const size_t count : {1u, 2u, 7u, 40u, 1'500u}) {
    for (const uint32_t bound : {3u, 1'000u, 2'000'000'000u}) {
      std::vector<double> late(count);
      for (double& ns : late) ns = static_cast<double>(random() % bound) / 2;
      std::vector<double> sorted = late;
      std::sort(sorted.begin(), sorted.end());
      std::vector<double> shares = late;
      ShareAirport(shares);
      for (size_t i = 0; i < count; ++i) {
        double expected = 0;
        for (size_t k = 0; k < count && sorted[k] <= late[i]; ++k)
          expected += (sorted[k] - (k > 0 ? sorted[k - 1] : 0)) / static_cast<double>(count - k);
        EXPECT_DOUBLE_EQ(shares[i], expected) << count << " ranks below " << bound;
      }
    }
  }
}

// Any job: stages, waits and roles drawn at random, some steps missing or unmarked.
StagedJob AnyJob(uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](uint32_t bound) { return static_cast<double>(random() % bound); };
  const uint32_t world = 1 + static_cast<uint32_t>(random() % 12);
  StagedJob job(world, 1 + static_cast<uint32_t>(random() % 6), {1, 1, 1, 1});
  for (uint32_t rank = 0; rank < world; ++rank) {
    job.Role(rank, random() % 3 == 0 ? "b" : "a");
    std::vector<StepRecord>& steps = job.batches()[rank].steps;
    for (uint32_t step = 0; step < steps.size(); ++step) {
      const StagedJob::Stages stages = {draw(50), draw(90), draw(200), 1 + draw(20)};
      job.SetStep(rank, step, stages,
                  draw(static_cast<uint32_t>(stages[0] + stages[1] + stages[2] + stages[3]) + 1));
      if (random() % 40 == 0) steps[step].stage_ns = {};
    }
    if (random() % 6 == 0) steps.pop_back();
  }
  return job;
}

TEST(StepAccount, NeverClaimsMoreThanWasLost) {
  uint32_t charged = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    StagedJob job = AnyJob(seed);
    const CrossRankView view = job.View();
    double waited_ms = 0;
    const std::vector<StepRow> rows = LineUpSteps(view);
    for (const StepRow& row : rows)
      waited_ms += static_cast<double>(*std::ranges::max_element(row.peer_wait_ns)) / kMs;
    double lost_ms = 0;
    for (const double of_rank : LostByRank(view)) {
      EXPECT_GE(of_rank, 0) << "seed " << seed;
      lost_ms += of_rank * static_cast<double>(rows.size());
    }
    EXPECT_LE(lost_ms, waited_ms + 1e-6) << "seed " << seed;
    charged += lost_ms > 0 ? 1 : 0;
  }
  EXPECT_GT(charged, 30u);
}

TEST(StepAccount, SomeRanksAloneAreChargedAsAmongAll) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    StagedJob job = AnyJob(seed);
    const CrossRankView view = job.View();
    const std::vector<double> all = LostByRank(view);
    const auto world = static_cast<uint32_t>(job.batches().size());
    const std::vector<RankId> asked = {RankId{world - 1}, RankId{world},
                                       RankId{0}};  // the second is not there
    const std::optional<std::vector<double>> lost = LostPerStep(view, asked);
    ASSERT_EQ(lost.has_value(), !all.empty()) << "seed " << seed;
    if (!lost) continue;
    EXPECT_THAT(*lost, ElementsAre(DoubleNear(all[world - 1] * kMs, 1e-3), 0,
                                   DoubleNear(all[0] * kMs, 1e-3)))
        << "seed " << seed;
  }
}

TEST(VisitSteps, LendsTheRowsOfLineUpStepsWhereAllReportTheSame) {
  uint32_t visited = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    StagedJob job = AnyJob(seed);
    const CrossRankView view = job.View();
    std::vector<StepRow> rows;
    const auto keep = [&rows](const StepRow& row) {
      rows.push_back(row);
      return true;
    };
    if (!VisitSteps(view, keep)) continue;
    ++visited;
    const std::vector<StepRow> expected = LineUpSteps(view);
    ASSERT_EQ(rows.size(), expected.size()) << "seed " << seed;
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].id, expected[i].id) << "seed " << seed;
      EXPECT_EQ(rows[i].marked, expected[i].marked) << "seed " << seed;
      EXPECT_EQ(rows[i].rank, expected[i].rank) << "seed " << seed;
      EXPECT_EQ(rows[i].duration_ns, expected[i].duration_ns) << "seed " << seed;
      EXPECT_EQ(rows[i].peer_wait_ns, expected[i].peer_wait_ns) << "seed " << seed;
      EXPECT_EQ(rows[i].stage_ns, expected[i].stage_ns) << "seed " << seed;
    }
  }
  EXPECT_GT(visited, 50u);
}

TEST(VisitSteps, LeavesStepsThatRanksDifferInToLineUpSteps) {
  const auto visits = [](StagedJob& job) {
    return VisitSteps(job.View(), [](const StepRow&) { return true; });
  };
  StagedJob job = SlowLoader();
  EXPECT_TRUE(visits(job));
  StagedJob longer = SlowLoader();
  longer.batches()[0].steps.push_back({.id = 9, .duration_ns = 5});
  EXPECT_FALSE(visits(longer));
  StagedJob shifted = SlowLoader();
  for (StepRecord& step : shifted.batches()[2].steps) ++step.id;
  EXPECT_FALSE(visits(shifted));
  StagedJob impossible = SlowLoader();
  impossible.batches()[1].steps[3].peer_wait_ns = -1;
  EXPECT_FALSE(visits(impossible));
  StagedJob twice = SlowLoader();
  for (PatternBatch& batch : twice.batches()) batch.steps[1].id = batch.steps[0].id;
  EXPECT_FALSE(visits(twice));
}

TEST(StepAccount, PermutingTheRanksPermutesTheLosses) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    StagedJob job = AnyJob(seed);
    std::vector<double> lost = LostByRank(job.View());
    const auto world = static_cast<uint32_t>(job.batches().size());
    for (PatternBatch& batch : job.batches()) batch.rank = RankId{world - 1 - batch.rank.value};
    std::ranges::reverse(lost);
    EXPECT_THAT(LostByRank(job.View()), Pointwise(DoubleNear(1e-6), lost)) << "seed " << seed;
  }
}

TEST(StepAccount, TenTimesLongerStepsLoseTenTimesMore) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    StagedJob job = AnyJob(seed);
    std::vector<double> lost = LostByRank(job.View());
    for (PatternBatch& batch : job.batches()) {
      for (StepRecord& step : batch.steps) {
        step.duration_ns *= 10;
        step.peer_wait_ns *= 10;
        for (int64_t& stage : step.stage_ns) stage *= 10;
      }
    }
    for (double& ms : lost) ms *= 10;
    EXPECT_THAT(LostByRank(job.View()), Pointwise(DoubleNear(1e-5), lost)) << "seed " << seed;
  }
}

TEST(StepAccount, MoreHealthyRanksChangeNothing) {
  StagedJob large(64, 5, {10, 40, 80, 10}, 35);
  large.Set(1, {40, 40, 50, 10}, 5);
  EXPECT_DOUBLE_EQ(LostByRank(large.View())[1], LostByRank(SlowLoader().View())[1]);
}

}  // namespace
}  // namespace eroica

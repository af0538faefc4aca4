#include "diagnosis/step_accounting/step_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "diagnosis/peer_median.h"
#include "diagnosis/step_accounting/airport_share.h"
#include "diagnosis/step_accounting/staged_job.h"
#include "diagnosis/step_accounting/step_frontier.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kMs = 1e6;
constexpr size_t kDataStage = 0;
constexpr size_t kForwardStage = 1;
constexpr size_t kBackwardStage = 2;

std::vector<double> LostByRank(const StepAccount& account) {
  std::vector<double> lost;
  for (const RankAccount& rank : account.ranks) lost.push_back(rank.lost() / account.steps / kMs);
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

TEST(StepFrontier, NamesTheLeaderOfEachStageAndAddsUp) {
  StagedJob job(3, 1, {10, 40, 80, 10});
  job.Set(1, {40, 40, 50, 10}, 0).Set(2, {10, 45, 60, 40}, 0);
  const CrossRankView view = job.View();
  const StepFrontier frontier = FrontierOf(LineUpSteps(view).front());
  EXPECT_EQ(frontier[0].leader, 1u);
  EXPECT_EQ(frontier[0].increment_ns, 40 * kMs);
  EXPECT_EQ(frontier[0].lead_ns, 30 * kMs);
  EXPECT_EQ(frontier[1].leader, 1u);
  EXPECT_EQ(frontier[1].increment_ns, 40 * kMs);
  EXPECT_EQ(frontier[1].longest_other_ns, 45 * kMs);
  EXPECT_EQ(frontier[2].increment_ns, 50 * kMs);
  EXPECT_EQ(frontier[2].lead_ns, 0);  // rank 0 is as far
  EXPECT_EQ(frontier[3].leader, 2u);
  EXPECT_EQ(frontier[3].increment_ns, 25 * kMs);
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

TEST(StepAccount, ChargesTheCulpritWithItsExcessInItsStage) {
  const StepAccount account = Account(SlowLoader().View());
  EXPECT_EQ(account.steps, 5u);
  EXPECT_EQ(account.exposed_ns, 5 * 140 * kMs);
  EXPECT_THAT(LostByRank(account), ElementsAre(0, 30, 0, 0));
  EXPECT_DOUBLE_EQ(account.stage_lost_ns[kDataStage], 5 * 30 * kMs);
  EXPECT_DOUBLE_EQ(account.lost_ns, 5 * 30 * kMs);
  EXPECT_EQ(account.ranks[1].led_steps[kDataStage], 5u);
  const RankId culprit{1};
  EXPECT_DOUBLE_EQ(account.LostPerStep({&culprit, 1}), 30 * kMs);
}

TEST(StepAccount, WhatTheWaitingHidesBelongsToTheBackwardPass) {
  // All leave the backward pass together: only the waiting tells that rank 2 works 20 ms longer in
  // it.
  StagedJob job(4, 5, {10, 40, 80, 10}, 25);
  job.Set(2, {10, 40, 80, 10}, 5);
  const StepAccount account = Account(job.View());
  EXPECT_THAT(LostByRank(account), ElementsAre(0, 0, 20, 0));
  EXPECT_DOUBLE_EQ(account.stage_lost_ns[kBackwardStage], 5 * 20 * kMs);
}

TEST(StepAccount, ExcessesWithASynchronizationBetweenThemBothCount) {
  // Rank 0 is 30 ms late in the data stage, all meet in forward, then rank 3 works 20 ms longer in
  // backward.
  StagedJob job(4, 5, {10, 70, 80, 10}, 55);
  job.Set(0, {40, 40, 80, 10}, 25).Set(3, {10, 70, 80, 10}, 35);
  const StepAccount account = Account(job.View());
  EXPECT_THAT(LostByRank(account), ElementsAre(30, 0, 0, 20));
  EXPECT_DOUBLE_EQ(account.lost_ns, 5 * 50 * kMs);
}

TEST(StepAccount, ExcessesSideBySideCountOnce) {
  // The same, but nobody meets before the backward pass: rank 3's 20 ms pass while all wait for
  // rank 0.
  StagedJob job(4, 5, {10, 40, 80, 10}, 35);
  job.Set(0, {40, 40, 50, 10}, 5).Set(3, {10, 40, 80, 10}, 15);
  const StepAccount account = Account(job.View());
  EXPECT_THAT(LostByRank(account), ElementsAre(30, 0, 0, 0));
}

TEST(StepAccount, RanksLateTogetherShareTheLoss) {
  StagedJob job(6, 5, {10, 40, 80, 10}, 35);
  job.Set(1, {40, 40, 50, 10}, 5).Set(4, {30, 40, 60, 10}, 15);  // 30 and 20 ms late
  const StepAccount account = Account(job.View());
  EXPECT_THAT(LostByRank(account),
              ElementsAre(0, 20, 0, 0, 10, 0));  // 20 ms for both, 10 more for rank 1 alone
}

TEST(StepAccount, AnotherRoleIsNotLate) {
  StagedJob job(4, 5, {10, 40, 40, 10}, 0);
  job.Set(2, {10, 20, 70, 0}, 40).Set(3, {10, 20, 70, 0}, 40);
  for (uint32_t rank = 0; rank < 4; ++rank) job.Role(rank, rank < 2 ? "stage0" : "stage1");
  EXPECT_THAT(LostByRank(Account(job.View())), ElementsAre(0, 0, 0, 0));
}

TEST(StepAccount, StepsWithoutMarksAreAccountedAsAWhole) {
  StagedJob job = SlowLoader();
  for (PatternBatch& batch : job.batches()) {
    for (StepRecord& step : batch.steps) step.stage_ns = {};
  }
  const StepAccount account = Account(job.View());
  EXPECT_EQ(account.unmarked_steps, 5u);
  EXPECT_EQ(account.stage_ns[kUnmarkedStage], account.exposed_ns);
  EXPECT_THAT(LostByRank(account), ElementsAre(0, 30, 0, 0));
  EXPECT_EQ(StageName(kUnmarkedStage), "step");
}

TEST(StepAccount, NothingIsLostWhereNobodyWaited) {
  StagedJob job(4, 5, {10, 40, 80, 10}, 0);
  job.Set(1, {40, 40, 80, 10}, 0);  // longer, and nobody cares
  EXPECT_EQ(Account(job.View()).lost_ns, 0);
}

TEST(StepAccount, OfNothingIsNothing) {
  const CrossRankView view({}, {});
  const StepAccount account = Account(view);
  EXPECT_EQ(account.steps, 0u);
  EXPECT_THAT(account.ranks, IsEmpty());
  const RankId nobody{0};
  EXPECT_EQ(account.LostPerStep({&nobody, 1}), 0);
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

TEST(StepAccount, AddsUpAndNeverClaimsMoreThanWasLost) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    StagedJob job = AnyJob(seed);
    const CrossRankView view = job.View();
    const StepAccount account = Account(view);
    int64_t exposed = 0;
    double waited = 0;
    for (const StepRow& row : LineUpSteps(view)) {
      int64_t longest = 0;
      int64_t most = 0;
      for (size_t i = 0; i < row.size(); ++i) {
        longest = std::max(longest, row.duration_ns[i]);
        most = std::max(most, row.peer_wait_ns[i]);
      }
      exposed += longest;
      waited += static_cast<double>(most);
    }
    EXPECT_EQ(account.exposed_ns, exposed) << "seed " << seed;
    EXPECT_EQ(std::accumulate(account.stage_ns.begin(), account.stage_ns.end(), int64_t{0}),
              exposed)
        << "seed " << seed;
    int64_t led = 0;
    double lost = 0;
    for (const RankAccount& rank : account.ranks) {
      led = std::accumulate(rank.led_ns.begin(), rank.led_ns.end(), led);
      for (const double part : rank.lost_ns) EXPECT_GE(part, 0) << "seed " << seed;
      lost += rank.lost();
    }
    EXPECT_EQ(led, exposed) << "seed " << seed;
    EXPECT_NEAR(lost, account.lost_ns, 1) << "seed " << seed;
    EXPECT_NEAR(std::accumulate(account.stage_lost_ns.begin(), account.stage_lost_ns.end(), 0.0),
                account.lost_ns, 1)
        << "seed " << seed;
    EXPECT_LE(account.lost_ns, waited + 1) << "seed " << seed;
  }
}

TEST(StepAccount, SomeRanksAloneAreChargedAsAmongAll) {
  uint32_t charged = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    StagedJob job = AnyJob(seed);
    const CrossRankView view = job.View();
    const StepAccount account = Account(view);
    const auto world = static_cast<uint32_t>(job.batches().size());
    const std::vector<RankId> asked = {RankId{world - 1}, RankId{world},
                                       RankId{0}};  // the second is not there
    const std::optional<std::vector<double>> lost = LostPerStep(view, asked);
    ASSERT_EQ(lost.has_value(), account.steps > 0 && account.unmarked_steps == 0)
        << "seed " << seed;
    ASSERT_EQ(HasSteps(view), account.steps > 0) << "seed " << seed;
    if (!lost) continue;
    ++charged;
    EXPECT_THAT(*lost, ElementsAre(account.ranks[world - 1].lost() / account.steps, 0,
                                   account.ranks[0].lost() / account.steps))
        << "seed " << seed;
  }
  EXPECT_GT(charged, 30u);
}

TEST(VisitSteps, LendsTheRowsOfLineUpStepsWhereAllReportTheSame) {
  uint32_t alike = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    StagedJob job = AnyJob(seed);
    const CrossRankView view = job.View();
    std::vector<StepRow> rows;
    const auto keep = [&rows](const StepRow& row) {
      rows.push_back(row);
      return true;
    };
    if (!VisitSteps(view, keep)) continue;
    ++alike;
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
  EXPECT_GT(alike, 50u);
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
    const StepAccount account = Account(job.View());
    const auto world = static_cast<uint32_t>(job.batches().size());
    for (PatternBatch& batch : job.batches()) batch.rank = RankId{world - 1 - batch.rank.value};
    const StepAccount mirrored = Account(job.View());
    EXPECT_EQ(mirrored.stage_ns, account.stage_ns) << "seed " << seed;
    for (uint32_t rank = 0; rank < world; ++rank) {
      EXPECT_NEAR(mirrored.ranks[world - 1 - rank].lost(), account.ranks[rank].lost(), 1)
          << "seed " << seed << " rank " << rank;
    }
  }
}

TEST(StepAccount, TenTimesLongerStepsLoseTenTimesMore) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    StagedJob job = AnyJob(seed);
    const StepAccount account = Account(job.View());
    for (PatternBatch& batch : job.batches()) {
      for (StepRecord& step : batch.steps) {
        step.duration_ns *= 10;
        step.peer_wait_ns *= 10;
        for (int64_t& stage : step.stage_ns) stage *= 10;
      }
    }
    EXPECT_NEAR(Account(job.View()).lost_ns, 10 * account.lost_ns, 10) << "seed " << seed;
  }
}

TEST(StepAccount, MoreHealthyRanksChangeNothing) {
  StagedJob small = SlowLoader();
  StagedJob large(64, 5, {10, 40, 80, 10}, 35);
  large.Set(1, {40, 40, 50, 10}, 5);
  EXPECT_DOUBLE_EQ(Account(large.View()).lost_ns, Account(small.View()).lost_ns);
  EXPECT_DOUBLE_EQ(Account(large.View()).ranks[1].lost_ns[kDataStage],
                   Account(small.View()).ranks[1].lost_ns[kDataStage]);
  EXPECT_EQ(Account(large.View()).ranks[1].lost_ns[kForwardStage], 0);
}

}  // namespace
}  // namespace eroica

// A device that somebody outside the job uses, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "diagnosis/measurements/device_job.h"
#include "diagnosis/slow_rank/slow_rank_operator.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<Finding> OfSharedDevices(std::vector<Finding> findings) {
  std::erase_if(findings,
                [](const Finding& finding) { return finding.kind != FindingKind::kContention; });
  return findings;
}

std::vector<Finding> Evaluate(const std::vector<DeviceRank>& ranks, DeviceJobShape shape = {}) {
  DeviceJob job(ranks, shape);
  return OfSharedDevices(ClaimsOf<SlowRankOperator>(job.view()));
}

std::vector<DeviceRank> JobWith(uint32_t rank, const DeviceRank& odd, size_t ranks = 8) {
  std::vector<DeviceRank> job(ranks);
  job[rank] = odd;
  return job;
}

TEST(SharedDevice, NamesTheRankWhoseDeviceIsShared) {
  const std::vector<Finding> findings = Evaluate(JobWith(6, {.data = 1.06, .optimizer = 1.06}));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kContention);
  ASSERT_THAT(findings[0].culprits, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 6);
  EXPECT_THAT(findings[0].victims, SizeIs(7));
  EXPECT_THAT(findings[0].title, HasSubstr("The device of rank 6 is shared"));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 0.06 * 88e6, 1e5);
}

TEST(SharedDevice, IsNoLowerClockNoPausesAndNoLongerInputs) {
  EXPECT_THAT(Evaluate(JobWith(6, {.data = 1.2, .optimizer = 1.2, .clock = 1 / 1.2})), IsEmpty());
  EXPECT_THAT(Evaluate(JobWith(6, {.data = 1.2})), IsEmpty());
  EXPECT_THAT(Evaluate(JobWith(6, {.paused = 0.2})), IsEmpty());
}

TEST(SharedDevice, WithoutTheClockItIsUndecidedAndSaidOnceAsASlowRank) {
  EXPECT_THAT(Evaluate(JobWith(6, {.data = 1.2, .optimizer = 1.2}), {.samples = false}), IsEmpty());
  DeviceJob job(JobWith(6, {.data = 1.2, .optimizer = 1.2}), {.samples = false});
  const CrossRankView view(job.view().batches(), job.view().summaries());
  std::vector<Finding> findings;
  SlowRankOperator().Evaluate(view, findings);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].explanation, HasSubstr("undecided"));
}

// As in a trace: what memory bounds speaks against a lower clock, and no clock was seen.
TEST(SharedDevice, WithoutTheClockMemoryDoesNotDecideIt) {
  DeviceJob job(JobWith(6, {.data = 1.1, .optimizer = 1.1}), {.samples = false, .memory = true});
  const CrossRankView view(job.view().batches(), job.view().summaries());
  std::vector<Finding> findings;
  SlowRankOperator().Evaluate(view, findings);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kSlowRank);
  ASSERT_THAT(findings[0].culprits, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 6);
  EXPECT_THAT(findings[0].explanation, HasSubstr("somebody else on the device; what would decide"));
  EXPECT_THAT(findings[0].explanation, Not(HasSubstr("here +0.0 %")));
}

// Two percent of a step: too little for one window, and more than ranks with equal devices differ
// by in all of them.
TEST(SharedDevice, WhatNoWindowAloneShowsAddsUp) {
  const auto told_after = [](const DeviceRank& odd, int64_t windows) {
    std::vector<RankTimes> past;
    std::vector<Finding> findings;
    for (int64_t window = 0; window < windows; ++window) {
      DeviceJob job(JobWith(6, odd, 16), {.host_ms = 200});
      for (PatternBatch& batch : job.view().batches()) batch.window.index = window;
      const CrossRankView view(job.view().batches(), job.view().summaries(), {.times = past});
      past.push_back(view.rank_times());
      findings.clear();
      SlowRankOperator().Evaluate(view, findings);
    }
    return OfSharedDevices(std::move(findings));
  };
  EXPECT_THAT(told_after({.data = 1.06, .optimizer = 1.06}, 1), IsEmpty());
  const std::vector<Finding> findings = told_after({.data = 1.06, .optimizer = 1.06}, 4);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 6);
  EXPECT_THAT(findings[0].explanation, HasSubstr("adds up over 4"));
  EXPECT_THAT(told_after({.data = 1.06, .optimizer = 1.06, .clock = 1 / 1.06}, 4), IsEmpty())
      << "a lower clock";
  EXPECT_THAT(told_after({}, 4), IsEmpty());
}

TEST(SharedDevice, SilentOnHealthyDevicesThatDifferALittle) {
  std::vector<DeviceRank> ranks(16);
  for (uint32_t rank = 0; rank < 16; ++rank)
    ranks[rank] = {.data = 1 + 0.004 * rank, .optimizer = 1 + 0.004 * rank};
  EXPECT_THAT(Evaluate(ranks), IsEmpty());
  EXPECT_THAT(Evaluate(std::vector<DeviceRank>(16)), IsEmpty());
}

TEST(SharedDevice, MovesWithTheRank) {
  for (uint32_t rank = 0; rank < 8; ++rank) {
    const std::vector<Finding> findings = Evaluate(JobWith(rank, {.data = 1.1, .optimizer = 1.1}));
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].culprits[0].rank, static_cast<int32_t>(rank));
  }
}

TEST(SharedDevice, NeitherMoreHealthyRanksNorScaleChangeTheVerdict) {
  for (const size_t ranks : {8u, 32u, 200u})
    EXPECT_THAT(Evaluate(JobWith(6, {.data = 1.1, .optimizer = 1.1}, ranks)), SizeIs(1)) << ranks;
  for (const double scale : {0.1, 10.0}) {
    EXPECT_THAT(Evaluate(JobWith(6, {.data = 1.1, .optimizer = 1.1}), {.scale = scale}), SizeIs(1))
        << scale;
  }
}

}  // namespace
}  // namespace eroica

#include "diagnosis/monitoring_gap/telemetry_gaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <utility>

#include "diagnosis/measurements/training_view.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint32_t kRanks = 16;
constexpr uint32_t kSteps = 4;

// Which step of a window, 0 .. 3, is missing of a rank.
using Missing = std::function<bool(int64_t window, uint32_t rank, uint32_t step)>;

std::optional<Finding> ObserveWindow(TelemetryGaps& gaps, int64_t window, const Missing& missing,
                                     uint32_t world = kRanks) {
  TrainingView job(world, kSteps);
  job.RunOnAll("forward", 60).Finish();
  std::vector<PatternBatch> batches = job.batches();
  for (PatternBatch& batch : batches) {
    batch.window.index = window;
    for (StepRecord& step : batch.steps) step.id += window * kSteps;
    std::erase_if(batch.steps, [&](const StepRecord& step) {
      return missing(window, batch.rank.value, static_cast<uint32_t>(step.id - window * kSteps));
    });
    batch.silent = batch.steps.empty();
    if (batch.silent) batch.patterns.clear();
  }
  return gaps.Observe(CrossRankView(batches, job.summaries()));
}

std::optional<Finding> ObserveWindows(TelemetryGaps& gaps, int64_t first, int64_t last,
                                      const Missing& missing) {
  std::optional<Finding> finding;
  for (int64_t window = first; window <= last; ++window)
    finding = ObserveWindow(gaps, window, missing);
  return finding;
}

bool Nothing(int64_t, uint32_t, uint32_t) { return false; }
bool HalfOfTwoRanks(int64_t window, uint32_t rank, uint32_t step) {
  return window >= 1 && (rank == 3 || rank == 9) && step % 2 == 0;
}

TEST(TelemetryGaps, RanksThatLoseMuchAreListedAndNobodyIsBlamed) {
  TelemetryGaps gaps;
  EXPECT_FALSE(ObserveWindow(gaps, 0, HalfOfTwoRanks));
  const auto finding = ObserveWindows(gaps, 1, 4, HalfOfTwoRanks);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->kind, FindingKind::kMonitoringGap);
  EXPECT_THAT(finding->culprits, IsEmpty());
  EXPECT_THAT(finding->title, HasSubstr("of ranks 3, 9 are missing since window 1."));
  ASSERT_THAT(finding->evidence, SizeIs(2));
  EXPECT_EQ(finding->evidence[0].name, "steps_missing_of_rank_3");
  EXPECT_NEAR(finding->evidence[0].culprit, 0.4, 0.05) << "half, but not in the first window";
  EXPECT_EQ(finding->lost_ns_per_step, 0);
}

TEST(TelemetryGaps, ARankThatSendsNothingWhileTheJobGoesOn) {
  TelemetryGaps gaps;
  ObserveWindow(gaps, 0, Nothing);
  const auto finding =
      ObserveWindows(gaps, 1, 20, [](int64_t, uint32_t rank, uint32_t) { return rank == 5; });
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->explanation, HasSubstr("1 of them sends nothing at all"));
  EXPECT_EQ(finding->severity, Severity::kMinor);
}

// A job that becomes smaller: ranks 12 to 15 end in the middle of window 1 and say so. The world is
// as large as it ever was.
std::optional<Finding> ObserveWindowOfShrunkJob(TelemetryGaps& gaps, int64_t window, bool says_so) {
  TrainingView job(kRanks, kSteps);
  job.RunOnAll("forward", 60).Finish();
  std::vector<PatternBatch> batches = job.batches();
  for (PatternBatch& batch : batches) {
    batch.window.index = window;
    for (StepRecord& step : batch.steps) step.id += window * kSteps;
    if (window != 1 || batch.rank.value < 12) continue;
    batch.steps.resize(2);
    batch.final = says_so;
  }
  if (window > 1) batches.resize(12);
  return gaps.Observe(CrossRankView(batches, job.summaries()));
}

TEST(TelemetryGaps, RanksThatSaidTheirLastWordAreNotMissing) {
  for (const bool says_so : {true, false}) {
    TelemetryGaps gaps;
    bool found = false;
    for (int64_t window = 0; window < 20; ++window) {
      found = ObserveWindowOfShrunkJob(gaps, window, says_so).has_value() || found;
      TelemetryGaps restored;
      restored.Restore(gaps.State());
      gaps = restored;
    }
    EXPECT_EQ(found, !says_so);
  }
}

TEST(TelemetryGaps, RanksThatJoinMissNothingOfWhatWasBefore) {
  TelemetryGaps gaps;
  const Missing joining = [](int64_t window, uint32_t rank, uint32_t step) {
    return rank >= 12 && (window < 1 || (window == 1 && step < 3));
  };
  EXPECT_FALSE(ObserveWindows(gaps, 0, 3, joining).has_value());
  const Missing then = [](int64_t, uint32_t rank, uint32_t step) {
    return rank == 13 && step % 2 == 0;
  };
  EXPECT_TRUE(ObserveWindows(gaps, 4, 9, then).has_value()) << "what they lose from then on";
}

TEST(TelemetryGaps, FewAccidentsAreNone) {
  TelemetryGaps gaps;
  for (int64_t window = 0; window < 200; ++window) {
    const auto accident = [](int64_t w, uint32_t rank, uint32_t step) {
      return (w * 7919 + rank * 104729 + step * 1299709) % 50 == 0;
    };
    EXPECT_FALSE(ObserveWindow(gaps, window, accident)) << window;
  }
}

TEST(TelemetryGaps, ATransportThatLosesEquallyOnAllRanksIsNoRanksGap) {
  TelemetryGaps gaps;
  EXPECT_FALSE(ObserveWindows(gaps, 0, 20, [](int64_t window, uint32_t rank, uint32_t step) {
    return (window + rank + step) % 4 == 0;
  }));
}

// Telemetry is lost by the batch, of two steps here: on each rank now and then.
TEST(TelemetryGaps, LossesOfManyRanksThatAreFewYetAreNoRanksGap) {
  TelemetryGaps gaps;
  std::mt19937 random(1);
  std::bernoulli_distribution lost(0.05);
  std::map<std::pair<int64_t, uint32_t>, bool> batches;
  const auto missing = [&](int64_t window, uint32_t rank, uint32_t step) {
    const auto [batch, is_new] = batches.try_emplace({2 * window + step / 2, rank}, false);
    if (is_new) batch->second = lost(random);
    return batch->second;
  };
  for (int64_t window = 0; window < 40; ++window)
    EXPECT_FALSE(ObserveWindow(gaps, window, missing, 256)) << window;
}

// A quarter of the steps of three ranks, of which none is certain alone.
TEST(TelemetryGaps, SomeRanksTogetherAreNoAccident) {
  for (const uint32_t ranks : {1u, 3u}) {
    TelemetryGaps gaps;
    const Missing missing = [ranks](int64_t, uint32_t rank, uint32_t step) {
      return rank % 5 == 0 && rank / 5 < ranks && step == rank % 4;
    };
    EXPECT_EQ(ObserveWindows(gaps, 0, 3, missing).has_value(), ranks == 3);
  }
}

// Two ranks lose four of 24 steps each, which accidents of two percent do to one rank in eight
// hundred: that alone would be too little. But nobody else loses any.
TEST(TelemetryGaps, LossesThatOthersDoNotShareAreNoAccidents) {
  const auto some = [](int64_t window, uint32_t rank, uint32_t step) {
    return window >= 1 && step == rank % 4 && window != 3 && window < 6;
  };
  TelemetryGaps gaps;
  EXPECT_TRUE(ObserveWindows(gaps, 0, 5, [&](int64_t window, uint32_t rank, uint32_t step) {
    return (rank == 3 || rank == 9) && some(window, rank, step);
  }));
  TelemetryGaps with_others;
  EXPECT_FALSE(ObserveWindows(with_others, 0, 5, [&](int64_t window, uint32_t rank, uint32_t step) {
    const bool once = rank % 2 == 0 && window == 1 + rank / 4 && step == 2;
    return once || ((rank == 3 || rank == 9) && some(window, rank, step));
  })) << "eight others have lost a step, too";
}

// Jobs of 24 steps that lose one, two ... ten percent of them, equally on all ranks.
TEST(TelemetryGaps, NoiseAloneIsHardlyEverReported) {
  std::mt19937 random(7);
  int told = 0;
  for (int job = 0; job < 500; ++job) {
    std::bernoulli_distribution lost(0.01 * (1 + job % 10));
    TelemetryGaps gaps;
    for (int64_t window = 0; window < 6; ++window) {
      if (ObserveWindow(gaps, window, [&](int64_t, uint32_t, uint32_t) { return lost(random); })) {
        ++told;
        break;
      }
    }
  }
  EXPECT_LE(told, 2);
}

TEST(TelemetryGaps, AJobThatStandsHasNoGaps) {
  TelemetryGaps gaps;
  ObserveWindow(gaps, 0, Nothing);
  EXPECT_FALSE(ObserveWindows(gaps, 1, 9, [](int64_t, uint32_t, uint32_t) { return true; }));
}

TEST(TelemetryGaps, OfRanksThatWereNeverHeardNothingIsMissing) {
  TelemetryGaps gaps;
  for (int64_t window = 0; window < 9; ++window) {
    TrainingView job(kRanks, kSteps);
    job.RunOnAll("forward", 60).Finish();
    std::vector<PatternBatch> batches = job.batches();
    batches.pop_back();
    for (PatternBatch& batch : batches) batch.window.index = window;
    EXPECT_FALSE(gaps.Observe(CrossRankView(batches, job.summaries())));
  }
}

TEST(TelemetryGaps, GapsThatAreOverAreForgotten) {
  TelemetryGaps gaps;
  ASSERT_TRUE(ObserveWindows(gaps, 0, 5, HalfOfTwoRanks));
  EXPECT_FALSE(ObserveWindows(gaps, 6, 60, Nothing));
}

TEST(TelemetryGaps, ARestartForgetsNothing) {
  TelemetryGaps before;
  ObserveWindows(before, 0, 2, HalfOfTwoRanks);
  TelemetryGaps after;
  after.Restore(before.State());
  EXPECT_EQ(after.State(), before.State());
  EXPECT_EQ(ObserveWindow(after, 3, HalfOfTwoRanks), ObserveWindow(before, 3, HalfOfTwoRanks));
}

}  // namespace
}  // namespace eroica

#include "diagnosis/measurements/lasting_excess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>

#include "diagnosis/measurements/training_view.h"
#include "diagnosis/slow_rank/slow_rank_operator.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint32_t kSteps = 4;
constexpr double kStepMs = 100;

// How much longer the rank works in the step of the window, in ms.
using More = std::function<double(int64_t window, uint32_t rank, uint32_t step)>;

// A job window by window, as the processor keeps it.
class Windows {
 public:
  explicit Windows(uint32_t ranks) : ranks_(ranks) {}

  // Ranks that the look back from this window names.
  std::vector<BusyTime> Add(const More& more,
                            const std::function<void(TrainingView&)>& change = {}) {
    TrainingView job(ranks_, kSteps);
    job.RunOnAll("forward", kStepMs, "train > main");
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      for (uint32_t step = 0; step < kSteps; ++step)
        job.Jitter(rank, step, more(index_, rank, step));
    }
    if (change) change(job);
    job.Finish();
    for (PatternBatch& batch : job.batches()) batch.window.index = index_;
    ++index_;
    const CrossRankView view(job.batches(), job.summaries(), {.times = past_});
    past_.push_back(view.rank_times());
    if (past_.size() > kRankTimesKept) past_.erase(past_.begin());
    findings.clear();
    SlowRankOperator().Evaluate(view, findings);
    return view.lasting_excess();
  }

  std::vector<Finding> findings;  // of the newest window

 private:
  uint32_t ranks_;
  int64_t index_ = 0;
  std::vector<RankTimes> past_;
};

More Noise(double sigma_ms, uint64_t seed) {
  return [sigma_ms, random = std::make_shared<std::mt19937_64>(seed)](int64_t, uint32_t, uint32_t) {
    return std::max(0.0, std::normal_distribution<double>(4 * sigma_ms, sigma_ms)(*random));
  };
}

TEST(LastingExcess, WhatStandsInEveryWindowIsFoundThoughNoWindowShowsIt) {
  Windows job(16);
  const More noise = Noise(1, 1);
  std::vector<BusyTime> late;
  for (int window = 0; window < 12; ++window) {
    late = job.Add([&](int64_t w, uint32_t rank, uint32_t step) {
      return noise(w, rank, step) + (rank == 6 ? 1.7 : 0);
    });
    if (window < 2) {
      EXPECT_THAT(late, IsEmpty());
    }
  }
  ASSERT_THAT(late, SizeIs(1));
  EXPECT_EQ(late[0].rank, 6u);
  EXPECT_NEAR(late[0].share(), 0.017, 0.005);
}

TEST(LastingExcess, OneOfManyRanksIsComparedWithSomeOfThem) {
  Windows job(1200);
  const More noise = Noise(0.5, 23);
  std::vector<BusyTime> late;
  for (int window = 0; window < 5; ++window) {
    late = job.Add([&](int64_t w, uint32_t rank, uint32_t step) {
      return noise(w, rank, step) + (rank == 1001 ? 2.5 : 0);
    });
  }
  ASSERT_THAT(late, SizeIs(1));
  EXPECT_EQ(late[0].rank, 1001u);
}

TEST(LastingExcess, UnevenStepsOfHealthyJobsStaySilent) {
  for (const uint32_t ranks : {2u, 4u, 8u, 64u}) {
    for (const double sigma_ms : {0.1, 1.0, 8.0}) {
      Windows job(ranks);
      const More noise = Noise(sigma_ms, 7 + ranks);
      for (int window = 0; window < 40; ++window)
        EXPECT_THAT(job.Add(noise), IsEmpty()) << ranks << " ranks, " << sigma_ms << " ms";
    }
  }
}

// Experts that are hot for a few steps in a row, sequences that come in bundles: what one window
// shows the next one shows, too.
TEST(LastingExcess, WorkThatIsUnevenForAWhileIsNobodysFault) {
  constexpr double kRemembered = 0.9;  // from a step to the next: half of it is left after seven
  Windows job(16);
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, std::sqrt(1 - kRemembered * kRemembered));
  std::vector<double> state(16, 0);
  for (int window = 0; window < 200; ++window) {
    const std::vector<BusyTime> late = job.Add([&](int64_t, uint32_t rank, uint32_t) {
      state[rank] = kRemembered * state[rank] + normal(random);
      return 12 + 3 * state[rank];
    });
    EXPECT_THAT(late, IsEmpty()) << "window " << window;
  }
}

TEST(LastingExcess, DevicesThatDifferForGoodAreHealthy) {
  Windows job(64);
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(3, 0.7);
  std::vector<double> device;
  for (int rank = 0; rank < 64; ++rank) device.push_back(std::max(0.0, normal(random)));
  const More noise = Noise(0.2, 11);
  for (int window = 0; window < 30; ++window) {
    EXPECT_THAT(job.Add([&](int64_t w, uint32_t rank, uint32_t step) {
      return device[rank] + noise(w, rank, step);
    }),
                IsEmpty());
  }
}

TEST(LastingExcess, OneLongPauseDoesNotLast) {
  Windows job(8);
  const More noise = Noise(0.2, 13);
  for (int window = 0; window < 12; ++window) {
    const auto late = job.Add([&](int64_t w, uint32_t rank, uint32_t step) {
      return noise(w, rank, step) + (rank == 2 && w == 5 && step == 1 ? 400 : 0);
    });
    EXPECT_THAT(late, IsEmpty()) << "window " << window;
  }
}

TEST(LastingExcess, TheNewestWindowSaysWhy) {
  Windows job(8);
  const More noise = Noise(0.2, 17);
  for (int window = 0; window < 5; ++window) {
    job.Add(noise, [](TrainingView& view) {
      view.Run(3, "hook.py: record", 2, "train > main > forward");
    });
    if (window < 1) {
      EXPECT_THAT(job.findings, IsEmpty());
    }
  }
  ASSERT_THAT(job.findings, SizeIs(1));
  EXPECT_EQ(job.findings[0].culprits[0].rank, 3);
  EXPECT_EQ(job.findings[0].function, "hook.py: record");
  EXPECT_THAT(job.findings[0].explanation, ::testing::HasSubstr("adds up over"));
  job.Add(noise);
  EXPECT_THAT(job.findings, IsEmpty()) << "it is over";
}

TEST(LastingExcess, WithoutAReasonNobodyIsNamed) {
  Windows job(8);
  const More noise = Noise(0.2, 19);
  std::vector<BusyTime> late;
  for (int window = 0; window < 5; ++window) {
    late = job.Add([&](int64_t w, uint32_t rank, uint32_t step) {
      return noise(w, rank, step) + (rank == 3 ? 2 : 0);
    });
  }
  EXPECT_THAT(late, SizeIs(1));
  EXPECT_THAT(job.findings, IsEmpty());
}

TEST(LastingExcess, TheErrorOfCorrelatedWindowsIsWider) {
  EXPECT_DOUBLE_EQ(ErrorFactor(5, 0), 1);
  EXPECT_NEAR(ErrorFactor(2, 0.5), 3, 1e-12);  // of two values: (1 + r) / (1 - r)
  EXPECT_GT(ErrorFactor(10, 0.7), 6);
}

TEST(LastingExcess, AJobOfAnotherSizeHasNoPast) {
  const auto times = [](int64_t index, uint32_t world) {
    RankTimes window;
    window.world_size = world;
    window.window = {.kind = WindowKind::kSteps, .index = index, .start_ns = 0, .end_ns = 0};
    for (uint32_t rank = 0; rank < 8; ++rank) {
      const auto wait_ns =
          static_cast<float>((rank == 3 ? 0 : 20'000) + (index * 7 + rank * 3) % 5 * 10);
      window.rows.push_back({.rank = rank, .busy_ns = 1e6F - wait_ns, .wait_ns = wait_ns});
    }
    return window;
  };
  std::vector<PatternBatch> reports(8);
  std::vector<RankView> ranks;
  for (uint32_t rank = 0; rank < 8; ++rank) {
    reports[rank].steps = {{.id = 0, .duration_ns = 1}};
    ranks.push_back({.rank = RankId{rank}, .role = 0, .batch = &reports[rank]});
  }
  std::vector<RankTimes> past;
  for (int64_t index = 0; index < 5; ++index) past.push_back(times(index, 8));
  EXPECT_THAT(FindLastingExcess(ranks, 1, past, times(5, 8)), SizeIs(1));
  EXPECT_THAT(FindLastingExcess(ranks, 1, past, times(5, 16)), IsEmpty());
  past.front().world_size = 16;
  EXPECT_THAT(FindLastingExcess(ranks, 1, past, times(5, 8)), SizeIs(1));
  past.back().world_size = 16;
  EXPECT_THAT(FindLastingExcess(ranks, 1, past, times(5, 8)), IsEmpty());
}

// Of four ranks over four windows: rank 3 waits less for the others by so much of a step.
std::vector<BusyTime> LookAt(double less, int64_t first_window, LastingOptions options = {}) {
  std::vector<RankTimes> windows(4);
  for (size_t w = 0; w < windows.size(); ++w) {
    windows[w].world_size = 4;
    windows[w].window = {.kind = WindowKind::kSteps,
                         .index = first_window + static_cast<int64_t>(w),
                         .start_ns = 0,
                         .end_ns = 0};
    for (uint32_t rank = 0; rank < 4; ++rank) {
      const double uneven = static_cast<double>((w * 5 + rank * 3 + w * rank) % 7) / 7 * 0.04;
      const double wait = 0.4 + uneven - (rank == 3 ? less : 0);
      windows[w].rows.push_back({.rank = rank,
                                 .busy_ns = static_cast<float>(1e9 * (1 - wait)),
                                 .wait_ns = static_cast<float>(1e9 * wait)});
    }
  }
  std::vector<PatternBatch> reports(4);
  std::vector<RankView> ranks;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    reports[rank].steps = {{.id = 0, .duration_ns = 1}};
    ranks.push_back({.rank = RankId{rank}, .role = 0, .batch = &reports[rank]});
  }
  return FindLastingExcess(ranks, 1, std::span(windows).first(3), windows[3], options);
}

TEST(LastingExcess, TheFirstWindowsOfAJobMayCostMore) {
  EXPECT_THAT(LookAt(0.08, 0), SizeIs(1));
  EXPECT_THAT(LookAt(0.08, 1'000), IsEmpty());
  EXPECT_THAT(LookAt(0.3, 1'000), SizeIs(1));
  EXPECT_THAT(LookAt(0.03, 0), IsEmpty());
}

TEST(LastingExcess, WhoHasLessIsFoundTheSameWay) {
  EXPECT_THAT(LookAt(-0.3, 0), IsEmpty());
  const std::vector<BusyTime> less = LookAt(-0.3, 0, {.less = true});
  ASSERT_THAT(less, SizeIs(1));
  EXPECT_EQ(less[0].rank, 3u);
  EXPECT_NEAR(less[0].share(), 0.3, 0.03);
  EXPECT_THAT(LookAt(0.3, 0, {.less = true}), IsEmpty());
}

}  // namespace
}  // namespace eroica

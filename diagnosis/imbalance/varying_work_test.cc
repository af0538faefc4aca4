#include "diagnosis/imbalance/varying_work.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "diagnosis/measurements/training_view.h"

namespace eroica {
namespace {

struct Varies {
  double lengths = 0;     // of the kernels, from step to step
  double thread = 0;      // of what the thread does beside them, likewise
  double slow_rank = 1;   // times the kernels of rank 3 are as long as of the others
  double spiky_rank = 0;  // of rank 3 alone
  bool by_clock = false;  // it is the clock of a rank's device that varies, not its work
  uint32_t ranks = 8;
};

// 80 ms of kernels on data a step, 20 ms on the thread; ten steps a window.
class Windows {
 public:
  explicit Windows(Varies varies) : varies_(varies) {}

  std::optional<VaryingWork> Next() {
    constexpr uint32_t kSteps = 10;
    TrainingView job(varies_.ranks, kSteps);
    for (uint32_t rank = 0; rank < varies_.ranks; ++rank) {
      const double usual = 80 * (rank == 3 ? varies_.slow_rank : 1);
      const double spread =
          rank == 3 && varies_.spiky_rank > 0 ? varies_.spiky_rank : varies_.lengths;
      double kernels_ms = 0;
      for (uint32_t step = 0; step < kSteps; ++step) {
        const double of_step = usual * std::exp(spread * normal_(random_));
        kernels_ms += of_step;
        job.Jitter(rank, step, of_step + 20 * std::exp(varies_.thread * normal_(random_)));
      }
      for (int kernel = 0; kernel < 4; ++kernel)
        AddKernel(job, rank, kernel, kernels_ms / 4, usual * kSteps);
    }
    job.Finish();
    for (PatternBatch& batch : job.batches())
      batch.window.index = static_cast<int64_t>(times_.size());
    const CrossRankView view(job.batches(), {}, {.times = times_, .work = work_});
    const std::optional<VaryingWork> found = FindVaryingWork(view, {});
    times_.push_back(view.rank_times());
    work_.push_back(view.work_times());
    return found;
  }

 private:
  void AddKernel(TrainingView& job, uint32_t rank, int kernel, double window_ms,
                 double usual_ms) const {
    job.Run(rank, "gemm_" + std::to_string(kernel), 0, "", FunctionClass::kGpuCompute);
    FunctionPattern& pattern = job.batches()[rank].patterns.back();
    pattern.critical_ns = pattern.total_ns = static_cast<int64_t>(window_ms * 1e6);
    pattern.resource = Resource::kGpuSm;
    pattern.resource_samples = 100;
    pattern.mu = 0.9 * (varies_.by_clock ? usual_ms / 4 / window_ms : 1);
  }

  Varies varies_;
  std::mt19937_64 random_{7};
  std::normal_distribution<double> normal_;
  std::vector<RankTimes> times_;
  std::vector<RankTimes> work_;
};

std::optional<VaryingWork> InSecondWindow(Varies varies) {
  Windows windows(varies);
  EXPECT_FALSE(windows.Next()) << "nothing to compare with";
  return windows.Next();
}

TEST(VaryingWork, LengthsThatDifferFromStepToStepCostWhatTheLongestTakes) {
  const std::optional<VaryingWork> work = InSecondWindow({.lengths = 0.15});
  ASSERT_TRUE(work);
  // The largest of eight normal values lies 1.42 standard deviations above their mean.
  EXPECT_NEAR(work->cost_ns, 1.42 * 0.15 * 80e6, 8e6);
  EXPECT_GT(work->explained, 0.9);
  EXPECT_GE(work->slowest, 3u);
}

TEST(VaryingWork, WhatThreadsTakeNowAndThenIsNoWork) {
  for (int seed = 0; seed < 20; ++seed) {
    Windows windows({.thread = 0.8});
    for (int window = 0; window < 4; ++window) EXPECT_FALSE(windows.Next());
  }
}

TEST(VaryingWork, ARankThatIsSlowForGoodOrAloneIsNobodysLengths) {
  EXPECT_FALSE(InSecondWindow({.slow_rank = 1.5}));
  EXPECT_FALSE(InSecondWindow({.spiky_rank = 0.5}));
}

TEST(VaryingWork, DevicesThatSlowDownInTurnAreNoWork) {
  EXPECT_TRUE(InSecondWindow({.lengths = 0.15}));
  EXPECT_FALSE(InSecondWindow({.lengths = 0.15, .by_clock = true}));
}

TEST(VaryingWork, EvenWorkAndFewRanksSayNothing) {
  EXPECT_FALSE(InSecondWindow({.lengths = 0.005}));
  EXPECT_FALSE(InSecondWindow({.lengths = 0.15, .ranks = 2}));
}

}  // namespace
}  // namespace eroica

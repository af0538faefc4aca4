#include "diagnosis/regression/regression_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/training_view.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Work {
  double gemm_ms = 60;
  double mask_ms = 2;
  const char* mask = "build_mask";
  double transfer_ms = 10;
  double wait_ms = 0;    // for peers
  double once_ms = 0;    // in the mask of a single step
  double often_ms = 0;   // in half of the steps
  double late_ms = 0;    // more in the mask of the last two steps
  double jitter_ms = 0;  // by up to seven of which the steps of all ranks differ
};

// One window of four ranks that all do the same.
class Window {
 public:
  explicit Window(const Work& work, uint32_t ranks = 4) : job_(ranks) {
    job_.RunOnAll("gemm", work.gemm_ms, "", FunctionClass::kGpuCompute)
        .RunOnAll(work.mask, work.mask_ms, "train.py: forward");
    for (uint32_t rank = 0; rank < ranks && work.once_ms > 0; ++rank)
      job_.RunInSteps(rank, "collect", work.once_ms, 5, 6);
    for (uint32_t rank = 0; rank < ranks && work.often_ms > 0; ++rank)
      job_.RunInSteps(rank, "collect", work.often_ms, 4, 8);
    for (uint32_t rank = 0; rank < ranks && work.late_ms > 0; ++rank)
      LengthenLate(rank, work.late_ms);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      for (uint32_t step = 0; step < 8; ++step)
        job_.Jitter(rank, step, work.jitter_ms * (3 * step % 8));
    }
    CollectiveSummary& summary = job_.AddSummary();
    for (uint32_t rank = 0; rank < ranks; ++rank) summary.members.push_back({.rank = RankId{rank}});
    summary.transfer_ns = static_cast<int64_t>(work.transfer_ms * 8 * kNsPerMs);
    job_.Finish();
    for (PatternBatch& batch : job_.batches()) {
      for (StepRecord& step : batch.steps) {
        step.duration_ns += static_cast<int64_t>((work.transfer_ms + work.wait_ms) * kNsPerMs);
        step.peer_wait_ns += static_cast<int64_t>(work.wait_ms * kNsPerMs);
      }
    }
  }
  CrossRankView View(std::span<const PatternBatch> history = {}) {
    return {job_.batches(), job_.summaries(), {.profiles = history}};
  }
  TrainingView& job() { return job_; }

 private:
  void LengthenLate(uint32_t rank, double ms) {
    job_.RunInSteps(rank, "build_mask", ms, 6, 8, "train.py: forward");
    std::vector<FunctionPattern>& patterns = job_.batches()[rank].patterns;
    const FunctionPattern late = patterns.back();
    patterns.pop_back();
    FunctionPattern& mask = *std::ranges::find(patterns, late.function, &FunctionPattern::function);
    mask.critical_ns += late.critical_ns;
    mask.total_ns += late.total_ns;
  }

  TrainingView job_;
};

// What is said of the last of these windows, of which stacks are sampled so often, or functions
// traced; host_only: of ranks without devices.
std::vector<Finding> Evaluate(const std::vector<Work>& windows, uint64_t samples = 0,
                              bool host_only = false) {
  std::vector<PatternBatch> history;
  for (size_t i = 0; i + 1 < windows.size(); ++i)
    history.push_back(Window(windows[i]).View().profile());
  Window last(windows.back());
  if (samples > 0) last.job().SampleStacks(samples);
  for (PatternBatch& batch : last.job().batches()) batch.host_only = host_only;
  std::vector<Finding> findings;
  RegressionOperator().Evaluate(last.View(history), findings);
  return findings;
}

// Processors are shared with whatever else runs on the host, or below it.
TEST(RegressionOperator, WindowsOfRanksWithoutDevicesDriftByMore) {
  const auto claims_of = [](double mask_ms, bool host_only) {
    const Work now{.mask_ms = mask_ms};
    return Evaluate({{}, {}, {}, now, now, now, now}, 0, host_only).size();
  };
  EXPECT_EQ(claims_of(6, false), 1u) << "5.6 % of a step";
  EXPECT_EQ(claims_of(6, true), 0u);
  EXPECT_EQ(claims_of(22, true), 1u) << "28 %";
}

TEST(RegressionOperator, AFunctionThatGrewOnAllRanksIsNamed) {
  const std::vector<Finding> findings = Evaluate({{}, {}, {.mask_ms = 12}, {.mask_ms = 12}});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kRegression);
  EXPECT_EQ(findings[0].function, "build_mask");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_THAT(findings[0].victims, SizeIs(4));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 10e6, 1e3);
  EXPECT_THAT(findings[0].title, HasSubstr("build_mask takes 12.0 ms instead of 2.00 ms"));
}

// Windows of 0.65 s: the scheduler's accidents are counted over 2.4 s.
TEST(RegressionOperator, WaitsForProcessorsMustLast) {
  constexpr const char* kWaits = "(runnable, waiting for a processor)";
  const Work before{.mask_ms = 0.2, .mask = kWaits};
  const Work now{.mask_ms = 12, .mask = kWaits};
  EXPECT_THAT(Evaluate({before, before, now, now}), IsEmpty());
  const std::vector<Work> lasting = {before, before, before, before, now, now, now, now};
  ASSERT_THAT(Evaluate(lasting), SizeIs(1));
  EXPECT_EQ(Evaluate(lasting)[0].function, kWaits);
  const Work short_before{.mask_ms = 2, .mask = kWaits};
  EXPECT_THAT(
      Evaluate({short_before, short_before, short_before, short_before, now, now, now, now}),
      IsEmpty())
      << "there were too few processors before, too";
}

// A data loader whose workers get less of the processors, in a job that is slower by far more.
TEST(RegressionOperator, WhatHasOnlyGrownMustExplainHalfOfAChangeThatTheStepsShow) {
  const Work before{.mask_ms = 10};
  const auto since = [&](const Work& now) {
    return Evaluate({before, before, before, before, before, now, now});
  };
  EXPECT_THAT(since({.mask_ms = 14, .wait_ms = 30}), IsEmpty());
  EXPECT_THAT(since({.mask_ms = 14}), SizeIs(1));
}

TEST(RegressionOperator, AFewSampledStacksShowNoGrowth) {
  const std::vector<Work> windows = {{}, {}, {.mask_ms = 12}, {.mask_ms = 12}};
  EXPECT_THAT(Evaluate(windows, 10), IsEmpty()) << "six samples on four ranks instead of one";
  EXPECT_THAT(Evaluate(windows, 2'000), SizeIs(1));
}

TEST(RegressionOperator, AChangeThatBeganInTheWindowBeforeIsToldByTheFirstWholeOne) {
  const Work before = {.late_ms = 10};
  const std::vector<Finding> findings = Evaluate({{}, {}, {}, before, {.mask_ms = 12}});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "build_mask");
  EXPECT_NEAR(findings[0].lost_ns_per_step, 10e6, 1e3);
  EXPECT_THAT(Evaluate({{}, {}, {}, {}, {.mask_ms = 12}}), IsEmpty()) << "a window alone";
  EXPECT_THAT(Evaluate({{}, {}, before, {.mask_ms = 12}}), IsEmpty()) << "a past of two windows";
  EXPECT_THAT(Evaluate({{}, {}, {.mask_ms = 5}, before, {.mask_ms = 12}}), IsEmpty())
      << "it varied by a third as much before";
  EXPECT_THAT(Evaluate({{}, {}, {}, {.once_ms = 60}, {.mask_ms = 12}}), IsEmpty())
      << "a pause in a step, and something else";
  EXPECT_THAT(Evaluate({{}, {}, {}, before, before}), IsEmpty()) << "not in all steps";
}

TEST(RegressionOperator, TransfersThatTakeLongerEverywhereAreTheNetwork) {
  const std::vector<Finding> findings =
      Evaluate({{}, {}, {.transfer_ms = 25}, {.transfer_ms = 25}});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kCommunication);
  EXPECT_EQ(findings[0].subkind, "everywhere");
}

TEST(RegressionOperator, InAPipelineStagesWaitForWhatTheOthersDoLongerToo) {
  const std::vector<Finding> findings =
      Evaluate({{}, {}, {.mask_ms = 12, .wait_ms = 15}, {.mask_ms = 12, .wait_ms = 15}});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "build_mask");
  EXPECT_NEAR(findings[0].lost_ns_per_step, 25e6, 1e3);
}

TEST(RegressionOperator, WaitsThatGrowByThemselvesAreNoFunctionsFault) {
  EXPECT_THAT(Evaluate({{}, {}, {.mask_ms = 3, .wait_ms = 30}, {.mask_ms = 3, .wait_ms = 30}}),
              IsEmpty());
}

TEST(RegressionOperator, WhatLengthensOneStepOfAWindowIsNoRegression) {
  EXPECT_THAT(Evaluate({{}, {}, {}, {.once_ms = 60}, {.once_ms = 60}}), IsEmpty());
}

TEST(RegressionOperator, AJobOfAnotherSizeHasNoPastYet) {
  std::vector<PatternBatch> history;
  for (int window = 0; window < 3; ++window) {
    history.push_back(Window({}).View().profile());
    for (FunctionPattern& row : history.back().patterns) row.count = 8;
  }
  history.push_back(Window({.transfer_ms = 25}).View().profile());
  Window last({.transfer_ms = 25});
  std::vector<Finding> findings;
  RegressionOperator().Evaluate(last.View(history), findings);
  EXPECT_THAT(findings, IsEmpty());
}

// 46 of 48 ranks go on: other rings. That two are not heard of now and then makes no other job.
TEST(RegressionOperator, AJobThatLostAFewRanksForGoodHasNoPastYet) {
  const auto told = [](const std::vector<uint32_t>& ranks_before) {
    std::vector<PatternBatch> history;
    for (const uint32_t ranks : ranks_before) {
      history.push_back(Window({}, ranks).View().profile());
      history.back().world_size = 48;
    }
    history.push_back(Window({.transfer_ms = 25}, 46).View().profile());
    history.back().world_size = 48;
    Window last({.transfer_ms = 25}, 46);
    for (PatternBatch& batch : last.job().batches()) batch.world_size = 48;
    std::vector<Finding> findings;
    RegressionOperator().Evaluate(last.View(history), findings);
    return findings;
  };
  EXPECT_THAT(told({48, 48, 48, 48}), IsEmpty());
  EXPECT_THAT(told({48, 46, 48, 46}), SizeIs(1));
}

// A collection now and then is in some windows and not in others.
TEST(RegressionOperator, WhatComesNowAndThenMustTakeMoreThanInAnyWindowBefore) {
  EXPECT_THAT(Evaluate({{}, {.often_ms = 40}, {}, {.often_ms = 40}, {.often_ms = 40}}), IsEmpty());
  EXPECT_THAT(Evaluate({{}, {}, {}, {.often_ms = 40}, {.often_ms = 40}}), SizeIs(1));
}

TEST(RegressionOperator, OneSlowWindowIsAPause) {
  EXPECT_THAT(Evaluate({{}, {}, {}, {.mask_ms = 40}}), IsEmpty());
}

TEST(RegressionOperator, ASmallChangeIsNone) {
  EXPECT_THAT(Evaluate({{}, {}, {.mask_ms = 3.9}, {.mask_ms = 3.9}}), IsEmpty());
}

TEST(RegressionOperator, AJobThatVariesFromWindowToWindowVaries) {
  EXPECT_THAT(Evaluate({{.gemm_ms = 50},
                        {.gemm_ms = 70},
                        {.gemm_ms = 55},
                        {.gemm_ms = 66},
                        {.gemm_ms = 72},
                        {.gemm_ms = 71}}),
              IsEmpty());
}

TEST(RegressionOperator, ASmallChangeThatStaysIsToldAfterThreeWindows) {
  const Work more = {.mask_ms = 3.5};  // 2 % of a step
  EXPECT_THAT(Evaluate({{}, {}, {}, more, more}), IsEmpty());
  const std::vector<Finding> findings = Evaluate({{}, {}, {}, more, more, more});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "build_mask");
  EXPECT_NEAR(findings[0].lost_ns_per_step, 1.5e6, 1e5);
  EXPECT_THAT(Evaluate({{}, {}, {}, more, {}, more}), IsEmpty()) << "it comes and goes";
  const Work less = {.mask_ms = 2.5};
  EXPECT_THAT(Evaluate({{}, {}, {}, less, less, less}), IsEmpty()) << "below 1 % of a step";
}

// Steps that vary more than windows do: three windows do not show 2 %, five do, of which the newest
// alone are no past for the others.
TEST(RegressionOperator, ASmallChangeIsLookedForWhereItBegan) {
  const auto told_after = [](size_t windows_since) {
    std::vector<Work> windows(3, {.jitter_ms = 0.6});
    windows.resize(3 + windows_since, {.mask_ms = 3.5, .jitter_ms = 0.6});
    return Evaluate(windows).size();
  };
  EXPECT_EQ(told_after(3), 0u);
  EXPECT_EQ(told_after(5), 1u);
}

TEST(RegressionOperator, FunctionsThatVaryFromWindowToWindowAreNoReason) {
  std::vector<Work> windows;
  for (const double ms : {2.0, 3.4, 2.6, 3.2, 2.2, 3.0, 3.6, 3.5, 3.7})
    windows.push_back({.mask_ms = ms});
  EXPECT_THAT(Evaluate(windows), IsEmpty());
}

// Lengths that grow over the training make all kernels longer, not one.
TEST(RegressionOperator, ADriftIsNoChangeOfOneFunction) {
  std::vector<Work> windows;
  for (int window = 0; window < 30; ++window)
    windows.push_back({.gemm_ms = 60 + 0.1 * window, .mask_ms = 2});
  EXPECT_THAT(Evaluate(windows), IsEmpty());
}

TEST(RegressionOperator, WhatOneRankHasComeToRunIsThatRanks) {
  const auto told = [](uint32_t ranks,
                       uint32_t hidden_ranks = 0) {  // the latter wait for others meanwhile
    std::vector<PatternBatch> history;
    for (int window = 0; window < 3; ++window) history.push_back(Window({}).View().profile());
    const auto with = [ranks, hidden_ranks](Window& window) {
      for (uint32_t rank = 0; rank < ranks; ++rank)
        window.job().Run(rank, "queue.py: get", 6, "train.py: main");
      FunctionPattern hidden = window.job().batches()[0].patterns.back();
      hidden.critical_ns = 0;
      for (uint32_t rank = ranks; rank < ranks + hidden_ranks; ++rank)
        window.job().batches()[rank].patterns.push_back(hidden);
      for (PatternBatch& batch : window.job().batches()) {
        std::ranges::sort(batch.patterns, {}, &FunctionPattern::function);
        for (StepRecord& step : batch.steps) step.duration_ns += 6 * kNsPerMs;
      }
    };
    Window before{{}};
    with(before);
    history.push_back(before.View().profile());
    Window last{{}};
    with(last);
    std::vector<Finding> findings;
    RegressionOperator().Evaluate(last.View(history), findings);
    return findings.size();
  };
  EXPECT_EQ(told(1), 0u);
  EXPECT_EQ(told(4), 1u);
  EXPECT_EQ(told(1, 1), 1u);
}

// Three windows as `usual`, then two as `changed`, of a job of which these ranks are recorded.
std::vector<Finding> AfterAChange(Window usual, Window changed, uint32_t world_size) {
  for (Window* window : {&usual, &changed}) {
    for (PatternBatch& batch : window->job().batches()) batch.world_size = world_size;
  }
  std::vector<PatternBatch> history(3, usual.View().profile());
  history.push_back(changed.View().profile());
  std::vector<Finding> findings;
  RegressionOperator().Evaluate(changed.View(history), findings);
  return findings;
}

// The mean of two ranks grows with one of them: that is the rank's, and no change of the job.
TEST(RegressionOperator, WhatGrowsOnOneRankOfTwoIsThatRanks) {
  for (const uint32_t grown : {1u, 2u}) {
    Window changed({}, 2);
    for (uint32_t rank = 0; rank < 2; ++rank) {
      PatternBatch& batch = changed.job().batches()[rank];
      const bool grows = rank < grown;
      for (FunctionPattern& pattern : batch.patterns) {
        if (pattern.name != "build_mask" || !grows) continue;
        pattern.critical_ns += 8 * 40 * kNsPerMs;
        pattern.total_ns += 8 * 40 * kNsPerMs;
      }
      for (StepRecord& step : batch.steps) {
        step.duration_ns += 40 * kNsPerMs;
        step.peer_wait_ns += grows ? 0 : 40 * kNsPerMs;
      }
    }
    EXPECT_THAT(AfterAChange(Window({}, 2), std::move(changed), 2), SizeIs(grown == 2 ? 1 : 0));
  }
}

// Where members of the collectives are not recorded, all others wait for one of these as they would
// for a slower network.
TEST(RegressionOperator, LongerCollectivesOfAJobRecordedInPartAreNotTheNetworks) {
  const auto said = [](uint32_t world_size) {
    return AfterAChange(Window({}), Window({.transfer_ms = 40}), world_size);
  };
  ASSERT_THAT(said(4), SizeIs(1));
  EXPECT_EQ(said(4)[0].kind, FindingKind::kCommunication);
  ASSERT_THAT(said(5), SizeIs(1));
  EXPECT_EQ(said(5)[0].kind, FindingKind::kStepTime);
  EXPECT_THAT(said(5)[0].culprits, IsEmpty());
  EXPECT_THAT(said(5)[0].title, HasSubstr("wait for ranks that are not"));
}

// A connection that carries data all the while waits for nobody.
TEST(RegressionOperator, LongerCollectivesThatTransfersFillAreUndecided) {
  Window changed({.transfer_ms = 40});
  PatternBatch& batch = changed.job().batches()[1];
  const auto steps = static_cast<int64_t>(batch.steps.size());
  batch.connections = {{.peer = 2, .bytes = 1 << 30, .busy_ns = 45'000'000 * steps}};
  const std::vector<Finding> said = AfterAChange(Window({}), changed, 5);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].kind, FindingKind::kStepTime);
  EXPECT_THAT(said[0].title, HasSubstr("undecided whether a rank that is not recorded"));
}

// What the only recorded rank has come to run may be its own.
TEST(RegressionOperator, OneRecordedRankIsNotAllRanks) {
  const auto said = [](uint32_t world_size) {
    return AfterAChange(Window({}, 1), Window({.mask_ms = 20}, 1), world_size).size();
  };
  EXPECT_EQ(said(1), 1u);
  EXPECT_EQ(said(8), 0u);
}

TEST(RegressionOperator, AJobOfAnotherSizeIsNoPast) {
  const Work more = {.mask_ms = 6};
  std::vector<PatternBatch> history;
  for (const Work& work : {Work{}, Work{}, Work{}, more})
    history.push_back(Window(work).View().profile());
  for (size_t i = 0; i < 3; ++i) history[i].world_size = 2;
  std::vector<Finding> findings;
  Window last(more);
  RegressionOperator().Evaluate(last.View(history), findings);
  EXPECT_THAT(findings, IsEmpty());
}

TEST(RegressionOperator, WithoutAPastNothingIsKnown) {
  EXPECT_THAT(Evaluate({{}, {.gemm_ms = 90}, {.gemm_ms = 90}}), IsEmpty());
}

// Windows of a step each: what steps vary by is known when there are some.
TEST(RegressionOperator, AFewStepsAreNoPast) {
  for (const size_t past : {2u, 6u}) {
    std::vector<PatternBatch> history;
    for (size_t i = 0; i < past; ++i) history.push_back(Window({}).View().profile());
    history.push_back(Window({.gemm_ms = 90}).View().profile());
    for (PatternBatch& profile : history) profile.steps.resize(1);
    std::vector<Finding> findings;
    Window last({.gemm_ms = 90});
    RegressionOperator().Evaluate(last.View(history), findings);
    EXPECT_THAT(findings, SizeIs(past == 6 ? 1 : 0)) << past << " windows before";
  }
}

TEST(RegressionOperator, AWarmUpThatEndsIsNone) {
  EXPECT_THAT(Evaluate({{.gemm_ms = 180}, {.gemm_ms = 90}, {}, {}, {}}), IsEmpty());
}

}  // namespace
}  // namespace eroica

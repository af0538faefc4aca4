// SlowHostOperator on hosts whose devices are slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/measurements/device_job.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/slow_host/slow_host_views.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<DeviceRank> Devices(DeviceRank of_host, uint32_t hosts = 3, uint32_t struck = 8) {
  std::vector<DeviceRank> ranks(8 * hosts);
  for (uint32_t rank = 8; rank < 8 + struck; ++rank) ranks[rank] = of_host;
  return ranks;
}

std::vector<Finding> EvaluateDevices(DeviceJob job, bool stages = true) {
  if (stages) InStages(job.view());
  return EvaluateSlowHosts(job.view());
}

TEST(SlowHostDevices, NamesTheHostWhoseDevicesRunAtALowerClockThoughTheyAreAllOfAStage) {
  const std::vector<Finding> findings =
      EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1.1, .clock = 0.9})));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "every gpu_compute function");
  EXPECT_THAT(findings[0].culprits, SizeIs(8));
  EXPECT_THAT(findings[0].title,
              HasSubstr("The devices of host host1 are slow, on 8 of its 8 ranks"));
  EXPECT_THAT(findings[0].explanation, HasSubstr("SM clock"));
}

TEST(SlowHostDevices, ClockAndOptimizerAgreeWithTheTimeOfKernelsWhereDevicesAreSlow) {
  const auto signs = [](DeviceRank devices) {
    const std::vector<Finding> findings = EvaluateDevices(DeviceJob(Devices(devices)));
    const Measure* agree = findings.empty() ? nullptr : FindMeasure(findings[0], kSignsThatAgree);
    return agree != nullptr ? agree->culprit - agree->threshold : -9;
  };
  EXPECT_EQ(signs({.data = 1.1, .optimizer = 1.1, .clock = 0.9}), 0);
  EXPECT_EQ(signs({.data = 1.1, .optimizer = 1.02, .clock = 0.9}), -1)
      << "what is bound by memory may not follow the clock";
  EXPECT_EQ(signs({.data = 1.1, .optimizer = 1.1, .clock = 0.98}), -1)
      << "a busier stage hides its clock";
}

// Longer inputs on all ranks of the host, of which one pauses: the others wait for it every few
// kernels, and are seen less busy.
TEST(SlowHostDevices, SilentWhereTheRankThatWaitsLeastShowsTheUsualClock) {
  const auto with_clock = [](double clock) {
    std::vector<DeviceRank> ranks = Devices({.data = 1.1, .optimizer = 1, .clock = 0.93});
    ranks[10].paused = 0.05;
    ranks[10].clock = clock;
    return EvaluateDevices(DeviceJob(ranks), false);
  };
  EXPECT_THAT(with_clock(1), IsEmpty());
  EXPECT_THAT(with_clock(0.93), SizeIs(1));
}

TEST(SlowHostDevices, NamesTheHostWhoseDevicesPause) {
  const std::vector<Finding> findings = EvaluateDevices(DeviceJob(Devices({.paused = 0.1})));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].explanation, HasSubstr("pause now and then"));
}

// Three of eight pause in rotation, and stages wait for each other most of the time: their mean is
// little of a step, and all wait for the slowest of them.
TEST(SlowHostDevices, DevicesThatPauseByTurnsCostWhatTheSlowestDoes) {
  const auto waiting = [](int64_t ms) {
    DeviceJob job(Devices({.paused = 0.12}, 3, 3));
    for (PatternBatch& batch : job.view().batches()) {
      for (StepRecord& step : batch.steps) {
        step.duration_ns += ms * kNsPerMs;
        step.peer_wait_ns += ms * kNsPerMs;
      }
    }
    return EvaluateDevices(job);
  };
  EXPECT_THAT(waiting(200), SizeIs(1));
  EXPECT_THAT(waiting(600), IsEmpty());
}

TEST(SlowHostDevices, NamesASlowDeviceThatHasNoPeers) {
  std::vector<DeviceRank> ranks(8);
  ranks[5] = {.data = 1.1, .optimizer = 1.1, .clock = 0.9};
  DeviceJob job(ranks);
  for (uint32_t rank = 0; rank < 8; ++rank) job.view().Role(rank, "stage" + std::to_string(rank));
  const std::vector<Finding> findings = EvaluateSlowHosts(job.view());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "whole_rank");
  EXPECT_EQ(findings[0].culprits[0].rank, 5);
}

TEST(SlowHostDevices, PausesThatMissTheOptimizerAreTheDevicesWhereTheHostHasStagesOfItsOwn) {
  const DeviceRank pauses{.optimizer = 0.91,
                          .paused = 0.1};  // so that the optimizer takes as long as elsewhere
  const std::vector<Finding> findings = EvaluateDevices(DeviceJob(Devices(pauses)));
  ASSERT_THAT(findings, SizeIs(1));
  ASSERT_NE(FindMeasure(findings[0], kSeenInWindows), nullptr)
      << "a heavier stage that begins in the window would look the same in this one";
  EXPECT_EQ(FindMeasure(findings[0], kSeenInWindows)->threshold, 2);
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices(pauses)), false), IsEmpty());
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.optimizer = 0.77, .paused = 0.3}, 3, 3))),
              SizeIs(1));
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.optimizer = 0.77, .paused = 0.3}, 3, 2))),
              IsEmpty());
}

TEST(SlowHostDevices, EquallySlowKernelsAreTheDevicesThoughABusierStageHidesItsClock) {
  const std::vector<Finding> findings =
      EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1.1, .clock = 0.98})));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].explanation, HasSubstr("The optimizer takes 10 % longer, too"));
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1.1, .clock = 1.02}))),
              SizeIs(1));
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1, .clock = 0.98}))),
              IsEmpty());
}

TEST(SlowHostDevices, SilentOnOneSlowDeviceOrAFewOfAHost) {
  EXPECT_THAT(
      EvaluateDevices(DeviceJob(Devices({.data = 1.4, .optimizer = 1.4, .clock = 0.7}, 3, 1))),
      IsEmpty());
  EXPECT_THAT(
      EvaluateDevices(DeviceJob(Devices({.data = 1.4, .optimizer = 1.4, .clock = 0.7}, 3, 3))),
      IsEmpty());
}

TEST(SlowHostDevices, SilentOnMoreWorkAtTheUsualClock) {
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.2}))), IsEmpty());
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.2, .clock = 0.95}))), IsEmpty());
}

TEST(SlowHostDevices, SilentOnStagesOfAHostWhereTheClockIsNotSampled) {
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1.1, .clock = 0.9}),
                                        {.samples = false})),
              IsEmpty());
}

// As in traces: ranks elsewhere do the same, and longer inputs would not lengthen the optimizer.
TEST(SlowHostDevices, NamesTheHostWithoutTheClockWhereItsRanksHavePeersElsewhere) {
  const auto said = [](DeviceRank devices, DeviceJobShape shape) {
    shape.samples = false;
    return EvaluateDevices(DeviceJob(Devices(devices, 2), shape), false);
  };
  const std::vector<Finding> findings = said({.data = 1.07, .optimizer = 1.05}, {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].culprits, SizeIs(8));
  EXPECT_THAT(findings[0].explanation, HasSubstr("no clock was recorded"));
  EXPECT_THAT(said({.data = 1.07, .optimizer = 1}, {}), IsEmpty()) << "longer inputs";
  EXPECT_THAT(said({.data = 1.07, .optimizer = 1.05}, {.optimizer = false}), IsEmpty());
}

TEST(SlowHostDevices, NeitherOrderOfHostsNorMoreOfThemNorScaleChangeTheVerdict) {
  const DeviceRank slow{.data = 1.1, .optimizer = 1.1, .clock = 0.9};
  for (const uint32_t hosts : {2u, 3u, 16u}) {
    const std::vector<Finding> findings = EvaluateDevices(DeviceJob(Devices(slow, hosts)), false);
    ASSERT_THAT(findings, SizeIs(1)) << hosts;
    EXPECT_EQ(findings[0].culprits.front().host, "host1");
  }
  for (const double scale : {0.1, 10.0})
    EXPECT_THAT(EvaluateDevices(DeviceJob(Devices(slow), {.scale = scale})), SizeIs(1)) << scale;
}

// Two hosts, each a stage; or a pipeline of single ranks. The ranks of the first half, then those
// of the second.
struct TwoStages {
  uint32_t ranks = 16;
  bool alone = false;

  TrainingView View(DeviceRank first, DeviceRank second) const {
    std::vector<DeviceRank> devices(ranks / 2, first);
    devices.resize(ranks, second);
    TrainingView view = DeviceJob(devices).view();
    for (uint32_t rank = 0; rank < ranks; ++rank)
      view.Role(rank, "stage" + std::to_string(alone ? rank : rank / 8));
    for (PatternBatch& batch : view.batches()) batch.window.index = 1;
    return view;
  }
  // What is said of a window after one like `first_then` and `second_then`.
  std::vector<Finding> Say(DeviceRank first_then, DeviceRank second_then, DeviceRank first,
                           DeviceRank second) const {
    TrainingView before = View(first_then, second_then);
    for (PatternBatch& batch : before.batches()) batch.window.index = 0;
    const RankTimes times = CrossRankView(before.batches(), before.summaries()).rank_times();
    TrainingView now = View(first, second);
    return EvaluateSlowHosts(now, {}, std::span(&times, 1));
  }
};

// The stages differ by more than the fault, as where one of them has the head.
constexpr DeviceRank kHead{.data = 1.3};

TEST(SlowHostDevices, NamesTheHostWhoseDevicesHaveBecomeSlowThoughStagesAlwaysDiffered) {
  const std::vector<Finding> findings =
      TwoStages().Say({}, kHead, {.data = 1.06, .optimizer = 1.06, .clock = 0.94}, kHead);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, kWholeHost);
  EXPECT_THAT(findings[0].culprits, SizeIs(8));
  EXPECT_EQ(findings[0].culprits.front().rank, 0);
  EXPECT_THAT(
      findings[0].title,
      HasSubstr("have become slower: single calls of its kernels take 6.0 % longer than before"));
}

TEST(SlowHostDevices, NamesTheRankWithoutPeersWhoseDeviceHasBecomeSlow) {
  const TwoStages pipeline{.ranks = 2, .alone = true};
  const std::vector<Finding> findings =
      pipeline.Say({}, kHead, {.data = 1.06, .optimizer = 1.06}, kHead);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "whole_rank");
  EXPECT_EQ(findings[0].culprits[0].rank, 0);
  EXPECT_THAT(pipeline.Say({}, kHead, {.paused = 0.1}, kHead), SizeIs(1));
}

// Telemetry that is lost takes now long calls and now short ones: windows differ for no reason, and
// the fastest of many by most.
TEST(SlowHostDevices, SilentOnWhatWindowsDifferByForNoReason) {
  const TwoStages pipeline{.ranks = 2, .alone = true};
  const auto say = [&](const std::vector<double>& windows, double now) {
    std::vector<RankTimes> past;
    const bool differ = windows[1] > 1.01;  // on both stages
    for (size_t i = 0; i < windows.size(); ++i) {
      const double other = differ ? windows[(i + 1) % windows.size()] : 1;
      TrainingView before = pipeline.View({.data = windows[i], .optimizer = windows[i]},
                                          {.data = kHead.data * other, .optimizer = other});
      for (PatternBatch& batch : before.batches())
        batch.window.index = static_cast<int64_t>(past.size());
      past.push_back(CrossRankView(before.batches(), before.summaries()).rank_times());
    }
    TrainingView view = pipeline.View({.data = now, .optimizer = now}, kHead);
    for (PatternBatch& batch : view.batches())
      batch.window.index = static_cast<int64_t>(past.size());
    return EvaluateSlowHosts(view, {}, past);
  };
  EXPECT_THAT(say({1.00, 1.001, 1.00, 1.002, 1.06, 1.061, 1.06, 1.06, 1.061}, 1.06), SizeIs(1))
      << "a change that stays";
  EXPECT_THAT(say({1.00, 1.03, 0.99, 1.04, 1.00, 1.05, 1.01, 1.04, 1.00}, 1.06), IsEmpty())
      << "windows that always differ";
  EXPECT_THAT(say({1.06, 1.061, 1.06, 1.00, 1.06, 1.061, 1.06, 1.06, 1.061}, 1.06), IsEmpty())
      << "one window was fast";
}

TEST(SlowHostDevices, SilentOnDevicesThatWereAlwaysSoOrChangeWithTheOthers) {
  const DeviceRank slow{.data = 1.06, .optimizer = 1.06, .clock = 0.99};
  EXPECT_THAT(TwoStages().Say(slow, kHead, slow, kHead), IsEmpty());
  EXPECT_THAT(
      TwoStages().Say({}, {}, {.data = 1.06, .optimizer = 1.06}, {.data = 1.06, .optimizer = 1.06}),
      IsEmpty());
}

TEST(SlowHostDevices, SilentOnThoseThatSeemSlowerBecauseTheOthersHaveRecovered) {
  EXPECT_THAT(TwoStages().Say({.data = 1.2, .optimizer = 1.2, .clock = 0.8}, {}, {}, {}),
              IsEmpty());
}

TEST(SlowHostDevices, SilentOnMoreDataOfAStageThanBefore) {
  EXPECT_THAT(TwoStages().Say({}, kHead, {.data = 1.2}, kHead), IsEmpty());
}

TEST(SlowHostDevices, SilentWhereOtherProcessesRanBefore) {
  const TwoStages stages;
  TrainingView before = stages.View({}, kHead);
  for (PatternBatch& batch : before.batches()) batch.window.index = 0;
  RankTimes times = CrossRankView(before.batches(), before.summaries()).rank_times();
  times.processes += 1;
  TrainingView now = stages.View({.data = 1.06, .optimizer = 1.06, .clock = 0.94}, kHead);
  EXPECT_THAT(EvaluateSlowHosts(now, {}, std::span(&times, 1)), IsEmpty());
}

TEST(SlowHostDevices, SilentOnHealthyHosts) {
  EXPECT_THAT(EvaluateDevices(DeviceJob(std::vector<DeviceRank>(24))), IsEmpty());
  std::vector<DeviceRank> ranks(24);
  for (uint32_t rank = 0; rank < 24; ++rank)
    ranks[rank] = {.data = 1 + 0.004 * (rank % 5), .optimizer = 1, .clock = 1 - 0.004 * (rank % 5)};
  EXPECT_THAT(EvaluateDevices(DeviceJob(ranks)), IsEmpty());
}

}  // namespace
}  // namespace eroica

#include "diagnosis/slow_host/slow_host_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/device_job.h"
#include "diagnosis/finding_measures.h"
#include "diagnosis/shared_cause.h"
#include "diagnosis/training_view.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kRead = "<built-in method recv_into of _socket.socket>";
constexpr std::string_view kReadStack = "train.py: main > storage.py: read";

std::vector<Finding> Evaluate(TrainingView& job, std::span<const PatternBatch> history = {},
                              std::span<const PatternBatch> past_times = {}) {
  const CrossRankView view(job.batches(), job.summaries(), {.profiles = history, .times = past_times});
  std::vector<Finding> findings;
  SlowHostOperator().Evaluate(view, findings);
  return findings;
}

// Hosts of eight ranks, 100 ms a step on every rank.
TrainingView Job(uint32_t hosts) {
  TrainingView job(8 * hosts);
  job.RunOnAll("gpt_model.py: forward", 100);
  return job;
}

// One stage of a pipeline on each host, or `per_host`.
void InStages(TrainingView& job, uint32_t per_host = 1) {
  for (uint32_t rank = 0; rank < job.batches().size(); ++rank) job.Role(rank, "stage" + std::to_string(rank * per_host / 8));
}

void Read(TrainingView& job, uint32_t first, uint32_t last, double ms, WaitKind wait = WaitKind::kOther) {
  for (uint32_t rank = first; rank <= last; ++rank) {
    job.Run(rank, kRead, ms, kReadStack);
    job.batches()[rank].patterns.back().wait = wait;
  }
}

void SetProcessorUse(TrainingView& job, double here, double elsewhere, uint32_t host) {
  for (uint32_t rank = 0; rank < job.batches().size(); ++rank) {
    for (FunctionPattern& pattern : job.batches()[rank].patterns) {
      pattern.resource = Resource::kCpu;
      pattern.resource_samples = 50;
      pattern.mu = rank / 8 == host ? here : elsewhere;
    }
  }
}

TEST(SlowHostOperator, NamesTheHostThatReadsSlowlyAndWhatItRuns) {
  TrainingView job = Job(3);
  Read(job, 8, 15, 10);
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kSlowRank);
  EXPECT_EQ(findings[0].function, "storage.py: read");
  EXPECT_EQ(findings[0].stack, "train.py: main");
  ASSERT_THAT(findings[0].culprits, SizeIs(8));
  EXPECT_EQ(findings[0].culprits.front().rank, 8);
  EXPECT_THAT(findings[0].victims, SizeIs(16));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 10e6, 1);
  EXPECT_THAT(findings[0].title, HasSubstr("Host host1 holds all others up by 10.0 ms a step"));
}

TEST(SlowHostOperator, SilentWhereTwoRanksOfEightDoNotOrFewMoreDoElsewhere) {
  TrainingView few = Job(3);
  Read(few, 8, 12, 10);
  EXPECT_THAT(Evaluate(few.Finish()), IsEmpty());
  TrainingView many = Job(3);
  Read(many, 8, 20, 10);
  EXPECT_THAT(Evaluate(many.Finish()), IsEmpty());
}

TEST(SlowHostOperator, SilentBelowAShareOfTheStepAndInFewSteps) {
  TrainingView little = Job(3);
  Read(little, 8, 15, 2.5);
  EXPECT_THAT(Evaluate(little.Finish()), IsEmpty());
  TrainingView seldom = Job(3);
  for (uint32_t rank = 8; rank < 16; ++rank) seldom.RunInSteps(rank, kRead, 40, 0, 4, kReadStack);
  EXPECT_THAT(Evaluate(seldom.Finish()), IsEmpty());
}

TEST(SlowHostOperator, SilentWithOneHost) {
  TrainingView job = Job(1);
  Read(job, 0, 7, 10);
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

TEST(SlowHostOperator, WhatAStageComputesIsNoFaultOfItsHost) {
  TrainingView one = Job(3);
  InStages(one);
  Read(one, 8, 15, 10, WaitKind::kNone);
  EXPECT_THAT(Evaluate(one.Finish()), IsEmpty());
  TrainingView two = Job(3);
  InStages(two, 2);
  Read(two, 8, 15, 10, WaitKind::kNone);
  EXPECT_THAT(Evaluate(two.Finish()), IsEmpty());
}

TEST(SlowHostOperator, AWaitIsTheHostsWhereAllOfItsStagesDo) {
  TrainingView one = Job(3);
  InStages(one);
  Read(one, 8, 15, 4);
  EXPECT_THAT(Evaluate(one.Finish()), IsEmpty());
  TrainingView two = Job(3);
  InStages(two, 2);
  Read(two, 8, 15, 4);
  EXPECT_THAT(Evaluate(two.Finish()), SizeIs(1));
}

TEST(SlowHostOperator, NoStageNeedsToWaitForATwentiethOfAStep) {
  TrainingView job = Job(3);
  InStages(job);
  Read(job, 8, 15, 10);
  EXPECT_THAT(Evaluate(job.Finish()), SizeIs(1));
}

TEST(SlowHostOperator, AWaitIsTheHostsWhereThePastDidNotKnowIt) {
  TrainingView before = Job(3);
  InStages(before);
  const CrossRankView past(before.Finish().batches(), before.summaries());
  TrainingView job = Job(3);
  InStages(job);
  Read(job, 8, 15, 4);
  job.Finish();
  EXPECT_THAT(Evaluate(job, std::vector<PatternBatch>{past.profile()}), SizeIs(1));
  const CrossRankView same(job.batches(), job.summaries());
  EXPECT_THAT(Evaluate(job, std::vector<PatternBatch>{same.profile(), same.profile()}), IsEmpty());
}

TEST(SlowHostOperator, AProcessorThatIsHalfAsBusyIsTakenBySomebodyElse) {
  const auto with_use = [](double here) {
    TrainingView job(24);
    for (uint32_t rank = 0; rank < 24; ++rank)
      job.Run(rank, "dataset.py: __getitem__", rank / 8 == 1 ? 15 : 5).Run(rank, "gpt_model.py: forward", 100);
    InStages(job);
    SetProcessorUse(job, here, 0.8, 1);
    return Evaluate(job.Finish());
  };
  EXPECT_THAT(with_use(0.7), IsEmpty());
  const std::vector<Finding> findings = with_use(0.3);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].explanation, HasSubstr("somebody else takes its cores"));
}

// A pipeline of single ranks: 100 ms a step on each.
TrainingView Pipeline(uint32_t stages = 8) {
  TrainingView job(stages);
  job.RunOnAll("gpt_model.py: forward", 100);
  for (uint32_t rank = 0; rank < stages; ++rank) job.Role(rank, "stage" + std::to_string(rank));
  return job;
}

TEST(SlowHostOperator, ARankWithoutPeersIsComparedWithAllOthers) {
  TrainingView job = Pipeline();
  Read(job, 3, 3, 10);
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "function");
  ASSERT_THAT(findings[0].culprits, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_THAT(findings[0].title, HasSubstr("Rank 3, which has no peers, holds the others up by 10.0 ms a step"));
}

TEST(SlowHostOperator, WhatAStageOfOneRankComputesMayBeTheStages) {
  TrainingView job = Pipeline();
  Read(job, 3, 3, 10, WaitKind::kNone);
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

// The same with kernels, and `struck` ranks that run a function for so long while their devices idle.
TrainingView DevicePipeline(double ms, std::vector<uint32_t> struck) {
  TrainingView job(8);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    for (const std::string_view kernel : {"gemm", "attention", "norm"}) job.Run(rank, kernel, 33, "", FunctionClass::kGpuCompute);
    job.Role(rank, "stage" + std::to_string(rank));
  }
  for (const uint32_t rank : struck) job.Run(rank, "record_histogram", ms, "train.py: main > metrics.py: record");
  return job;
}

TEST(SlowHostOperator, NoStageNeedsATwentiethOfAStepWhileItsDeviceIdles) {
  TrainingView job = DevicePipeline(10, {3});
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_EQ(findings[0].function, "record_histogram");
  TrainingView three = DevicePipeline(10, {1, 3, 6});
  EXPECT_THAT(Evaluate(three.Finish()), SizeIs(3));
  TrainingView half = DevicePipeline(10, {0, 1, 3, 6});
  EXPECT_THAT(Evaluate(half.Finish()), IsEmpty());
  TrainingView little = DevicePipeline(4, {3});
  EXPECT_THAT(Evaluate(little.Finish()), IsEmpty());
}

TEST(SlowHostOperator, WhatOtherStagesRunWhileTheyWaitIsEverybodys) {
  const auto hidden_on = [](uint32_t ranks) {
    TrainingView job = DevicePipeline(10, {0});
    FunctionPattern hidden = job.batches()[0].patterns.back();
    job.Finish();
    hidden.critical_ns = 0;
    for (uint32_t rank = 1; rank <= ranks; ++rank) {
      std::vector<FunctionPattern>& rows = job.batches()[rank].patterns;
      rows.insert(std::ranges::upper_bound(rows, hidden.function, {}, &FunctionPattern::function), hidden);
    }
    return Evaluate(job);
  };
  EXPECT_THAT(hidden_on(7), IsEmpty());
  EXPECT_THAT(hidden_on(3), IsEmpty());
  EXPECT_THAT(hidden_on(2), SizeIs(1));
}

TEST(SlowHostOperator, OfThreeStagesNobodyIsTheOddOne) {
  TrainingView job = Pipeline(3);
  Read(job, 1, 1, 10);
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

TEST(SlowHostOperator, WhatARankWithoutPeersDidNotComputeBeforeIsItsOwn) {
  TrainingView before = Pipeline();
  before.Finish();
  const CrossRankView past(before.batches(), before.summaries());
  TrainingView job = Pipeline();
  Read(job, 3, 3, 10, WaitKind::kNone);
  const std::vector<Finding> findings = Evaluate(job.Finish(), std::vector{past.profile()});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  PatternBatch of_another_size = past.profile();
  of_another_size.world_size = 16;
  EXPECT_THAT(Evaluate(job, std::vector{of_another_size}), IsEmpty());
}

std::vector<DeviceRank> Devices(DeviceRank of_host, uint32_t hosts = 3, uint32_t struck = 8) {
  std::vector<DeviceRank> ranks(8 * hosts);
  for (uint32_t rank = 8; rank < 8 + struck; ++rank) ranks[rank] = of_host;
  return ranks;
}

std::vector<Finding> EvaluateDevices(DeviceJob job, bool stages = true) {
  if (stages) InStages(job.view());
  return Evaluate(job.view());
}

TEST(SlowHostOperator, NamesTheHostWhoseDevicesRunAtALowerClockThoughTheyAreAllOfAStage) {
  const std::vector<Finding> findings = EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1.1, .clock = 0.9})));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "every gpu_compute function");
  EXPECT_THAT(findings[0].culprits, SizeIs(8));
  EXPECT_THAT(findings[0].title, HasSubstr("The devices of host host1 are slow, on 8 of its 8 ranks"));
  EXPECT_THAT(findings[0].explanation, HasSubstr("SM clock"));
}

// Longer inputs on all ranks of the host, of which one pauses: the others wait for it every few kernels, and are seen less busy.
TEST(SlowHostOperator, SilentWhereTheRankThatWaitsLeastShowsTheUsualClock) {
  const auto with_clock = [](double clock) {
    std::vector<DeviceRank> ranks = Devices({.data = 1.1, .optimizer = 1, .clock = 0.93});
    ranks[10].paused = 0.05;
    ranks[10].clock = clock;
    return EvaluateDevices(DeviceJob(ranks), false);
  };
  EXPECT_THAT(with_clock(1), IsEmpty());
  EXPECT_THAT(with_clock(0.93), SizeIs(1));
}

TEST(SlowHostOperator, NamesTheHostWhoseDevicesPause) {
  const std::vector<Finding> findings = EvaluateDevices(DeviceJob(Devices({.paused = 0.1})));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].explanation, HasSubstr("pause now and then"));
}

TEST(SlowHostOperator, NamesASlowDeviceThatHasNoPeers) {
  std::vector<DeviceRank> ranks(8);
  ranks[5] = {.data = 1.1, .optimizer = 1.1, .clock = 0.9};
  DeviceJob job(ranks);
  for (uint32_t rank = 0; rank < 8; ++rank) job.view().Role(rank, "stage" + std::to_string(rank));
  const std::vector<Finding> findings = Evaluate(job.view());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "whole_rank");
  EXPECT_EQ(findings[0].culprits[0].rank, 5);
}

// A pipeline of single ranks; rank 5 copies for so long, at so much of the bus.
std::vector<Finding> EvaluateCopies(double ms, double use, uint64_t bytes = 0) {
  TrainingView job = DevicePipeline(0, {});
  for (uint32_t rank = 0; rank < 8; ++rank) {
    job.Run(rank, "Memcpy HtoD (Pinned -> Device)", rank == 5 ? ms : 4, "", FunctionClass::kMemoryOp);
    FunctionPattern& copies = job.batches()[rank].patterns.back();
    copies.resource = Resource::kPcieTx;
    copies.resource_samples = use > 0 ? 20 : 0;
    copies.mu = rank == 5 ? use : 0.5;
    copies.bytes = rank == 5 ? bytes : bytes / 2;
  }
  return Evaluate(job.Finish());
}

TEST(SlowHostOperator, NamesARankWithoutPeersThatCopiesSlowly) {
  const std::vector<Finding> findings = EvaluateCopies(16, 0.125);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 5);
  EXPECT_EQ(findings[0].function, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_NEAR(findings[0].lost_ns_per_step, 12e6, 1);
  EXPECT_THAT(findings[0].title, HasSubstr("copies between host and device at 25 % of the speed of all other ranks"));
  EXPECT_THAT(EvaluateCopies(16, 0, 1 << 20), SizeIs(1));
}

TEST(SlowHostOperator, SilentOnMoreToCopyOrUnknownOrALittleSlowSpeeds) {
  EXPECT_THAT(EvaluateCopies(16, 0.5), IsEmpty());
  EXPECT_THAT(EvaluateCopies(16, 0), IsEmpty());
  EXPECT_THAT(EvaluateCopies(16, 0.4), IsEmpty());
  EXPECT_THAT(EvaluateCopies(5, 0.2), IsEmpty());
  EXPECT_THAT(EvaluateCopies(8, 0, 1 << 20), IsEmpty());
}

TEST(SlowHostOperator, PausesThatMissTheOptimizerAreTheDevicesWhereTheHostHasStagesOfItsOwn) {
  const DeviceRank pauses{.optimizer = 0.91, .paused = 0.1};  // so that the optimizer takes as long as elsewhere
  const std::vector<Finding> findings = EvaluateDevices(DeviceJob(Devices(pauses)));
  ASSERT_THAT(findings, SizeIs(1));
  ASSERT_NE(FindMeasure(findings[0], kSeenInWindows), nullptr)
      << "a heavier stage that begins in the window would look the same in this one";
  EXPECT_EQ(FindMeasure(findings[0], kSeenInWindows)->threshold, 2);
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices(pauses)), false), IsEmpty());
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.optimizer = 0.77, .paused = 0.3}, 3, 3))), SizeIs(1));
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.optimizer = 0.77, .paused = 0.3}, 3, 2))), IsEmpty());
}

TEST(SlowHostOperator, AllKernelsAlikeAreTheDevicesThoughABusierStageHidesItsClock) {
  const std::vector<Finding> findings = EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1.1, .clock = 0.98})));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].explanation, HasSubstr("The optimizer takes 10 % longer, too"));
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1.1, .clock = 1.02}))), IsEmpty());
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1.05, .clock = 0.98}))), IsEmpty());
}

TEST(SlowHostOperator, SilentOnOneSlowDeviceOrAFewOfAHost) {
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.4, .optimizer = 1.4, .clock = 0.7}, 3, 1))), IsEmpty());
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.4, .optimizer = 1.4, .clock = 0.7}, 3, 3))), IsEmpty());
}

TEST(SlowHostOperator, SilentOnMoreWorkAtTheUsualClock) {
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.2}))), IsEmpty());
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.2, .clock = 0.95}))), IsEmpty());
}

TEST(SlowHostOperator, SilentWhereTheClockIsNotSampled) {
  EXPECT_THAT(EvaluateDevices(DeviceJob(Devices({.data = 1.1, .optimizer = 1.1, .clock = 0.9}), {.samples = false})), IsEmpty());
}

TEST(SlowHostOperator, NeitherOrderOfHostsNorMoreOfThemNorScaleChangeTheVerdict) {
  const DeviceRank slow{.data = 1.1, .optimizer = 1.1, .clock = 0.9};
  for (const uint32_t hosts : {2u, 3u, 16u}) {
    const std::vector<Finding> findings = EvaluateDevices(DeviceJob(Devices(slow, hosts)), false);
    ASSERT_THAT(findings, SizeIs(1)) << hosts;
    EXPECT_EQ(findings[0].culprits.front().host, "host1");
  }
  for (const double scale : {0.1, 10.0}) EXPECT_THAT(EvaluateDevices(DeviceJob(Devices(slow), {.scale = scale})), SizeIs(1)) << scale;
}

// Two hosts, each a stage; or a pipeline of single ranks. The ranks of the first half, then those of the second.
struct TwoStages {
  uint32_t ranks = 16;
  bool alone = false;

  TrainingView View(DeviceRank first, DeviceRank second) const {
    std::vector<DeviceRank> devices(ranks / 2, first);
    devices.resize(ranks, second);
    TrainingView view = DeviceJob(devices).view();
    for (uint32_t rank = 0; rank < ranks; ++rank) view.Role(rank, "stage" + std::to_string(alone ? rank : rank / 8));
    for (PatternBatch& batch : view.batches()) batch.window.index = 1;
    return view;
  }
  // What is said of a window after one like `first_then` and `second_then`.
  std::vector<Finding> Say(DeviceRank first_then, DeviceRank second_then, DeviceRank first, DeviceRank second) const {
    TrainingView before = View(first_then, second_then);
    for (PatternBatch& batch : before.batches()) batch.window.index = 0;
    const PatternBatch times = CrossRankView(before.batches(), before.summaries()).rank_times();
    TrainingView now = View(first, second);
    return Evaluate(now, {}, std::span(&times, 1));
  }
};

// The stages differ by more than the fault, as where one of them has the head.
constexpr DeviceRank kHead{.data = 1.3};

TEST(SlowHostOperator, NamesTheHostWhoseDevicesHaveBecomeSlowThoughStagesAlwaysDiffered) {
  const std::vector<Finding> findings = TwoStages().Say({}, kHead, {.data = 1.06, .optimizer = 1.06, .clock = 0.94}, kHead);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, kWholeHost);
  EXPECT_THAT(findings[0].culprits, SizeIs(8));
  EXPECT_EQ(findings[0].culprits.front().rank, 0);
  EXPECT_THAT(findings[0].title, HasSubstr("have become slower: single calls of its kernels take 6.0 % longer than before"));
}

TEST(SlowHostOperator, NamesTheRankWithoutPeersWhoseDeviceHasBecomeSlow) {
  const TwoStages pipeline{.ranks = 2, .alone = true};
  const std::vector<Finding> findings = pipeline.Say({}, kHead, {.data = 1.06, .optimizer = 1.06}, kHead);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "whole_rank");
  EXPECT_EQ(findings[0].culprits[0].rank, 0);
  EXPECT_THAT(pipeline.Say({}, kHead, {.paused = 0.1}, kHead), SizeIs(1));
}

// Telemetry that is lost takes now long calls and now short ones: windows differ for no reason, and the fastest of many by most.
TEST(SlowHostOperator, SilentOnWhatWindowsDifferByForNoReason) {
  const TwoStages pipeline{.ranks = 2, .alone = true};
  const auto say = [&](const std::vector<double>& windows, double now) {
    std::vector<PatternBatch> past;
    const bool differ = windows[1] > 1.01;  // on both stages
    for (size_t i = 0; i < windows.size(); ++i) {
      const double other = differ ? windows[(i + 1) % windows.size()] : 1;
      TrainingView before = pipeline.View({.data = windows[i], .optimizer = windows[i]}, {.data = kHead.data * other, .optimizer = other});
      for (PatternBatch& batch : before.batches()) batch.window.index = static_cast<int64_t>(past.size());
      past.push_back(CrossRankView(before.batches(), before.summaries()).rank_times());
    }
    TrainingView view = pipeline.View({.data = now, .optimizer = now}, kHead);
    for (PatternBatch& batch : view.batches()) batch.window.index = static_cast<int64_t>(past.size());
    return Evaluate(view, {}, past);
  };
  EXPECT_THAT(say({1.00, 1.001, 1.00, 1.002, 1.06, 1.061, 1.06, 1.06, 1.061}, 1.06), SizeIs(1)) << "a change that stays";
  EXPECT_THAT(say({1.00, 1.03, 0.99, 1.04, 1.00, 1.05, 1.01, 1.04, 1.00}, 1.06), IsEmpty()) << "windows that always differ";
  EXPECT_THAT(say({1.06, 1.061, 1.06, 1.00, 1.06, 1.061, 1.06, 1.06, 1.061}, 1.06), IsEmpty()) << "one window was fast";
}

TEST(SlowHostOperator, SilentOnDevicesThatWereAlwaysSoOrChangeWithTheOthers) {
  const DeviceRank slow{.data = 1.06, .optimizer = 1.06, .clock = 0.99};
  EXPECT_THAT(TwoStages().Say(slow, kHead, slow, kHead), IsEmpty());
  EXPECT_THAT(TwoStages().Say({}, {}, {.data = 1.06, .optimizer = 1.06}, {.data = 1.06, .optimizer = 1.06}), IsEmpty());
}

TEST(SlowHostOperator, SilentOnThoseThatSeemSlowerBecauseTheOthersHaveRecovered) {
  EXPECT_THAT(TwoStages().Say({.data = 1.2, .optimizer = 1.2, .clock = 0.8}, {}, {}, {}), IsEmpty());
}

TEST(SlowHostOperator, SilentOnMoreDataOfAStageThanBefore) { EXPECT_THAT(TwoStages().Say({}, kHead, {.data = 1.2}, kHead), IsEmpty()); }

TEST(SlowHostOperator, SilentWhereOtherProcessesRanBefore) {
  const TwoStages stages;
  TrainingView before = stages.View({}, kHead);
  for (PatternBatch& batch : before.batches()) batch.window.index = 0;
  PatternBatch times = CrossRankView(before.batches(), before.summaries()).rank_times();
  times.pid += 1;
  TrainingView now = stages.View({.data = 1.06, .optimizer = 1.06, .clock = 0.94}, kHead);
  EXPECT_THAT(Evaluate(now, {}, std::span(&times, 1)), IsEmpty());
}

TEST(SlowHostOperator, SilentOnHealthyHosts) {
  EXPECT_THAT(EvaluateDevices(DeviceJob(std::vector<DeviceRank>(24))), IsEmpty());
  std::vector<DeviceRank> ranks(24);
  for (uint32_t rank = 0; rank < 24; ++rank)
    ranks[rank] = {.data = 1 + 0.004 * (rank % 5), .optimizer = 1, .clock = 1 - 0.004 * (rank % 5)};
  EXPECT_THAT(EvaluateDevices(DeviceJob(ranks)), IsEmpty());
}

}  // namespace
}  // namespace eroica

#include "diagnosis/slow_host/slow_host_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/explanation/shared_cause.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/slow_host/slow_host_views.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kRead = "<built-in method recv_into of _socket.socket>";
constexpr std::string_view kReadStack = "train.py: main > storage.py: read";

// Hosts of eight ranks, 100 ms a step on every rank.
TrainingView Job(uint32_t hosts) {
  TrainingView job(8 * hosts);
  job.RunOnAll("gpt_model.py: forward", 100);
  return job;
}

void Read(TrainingView& job, uint32_t first, uint32_t last, double ms,
          WaitKind wait = WaitKind::kOther) {
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
  const std::vector<Finding> findings = EvaluateSlowHosts(job.Finish());
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
  EXPECT_THAT(EvaluateSlowHosts(few.Finish()), IsEmpty());
  TrainingView many = Job(3);
  Read(many, 8, 20, 10);
  EXPECT_THAT(EvaluateSlowHosts(many.Finish()), IsEmpty());
}

TEST(SlowHostOperator, SilentBelowAShareOfTheStepAndInFewSteps) {
  TrainingView little = Job(3);
  Read(little, 8, 15, 2.5);
  EXPECT_THAT(EvaluateSlowHosts(little.Finish()), IsEmpty());
  TrainingView seldom = Job(3);
  for (uint32_t rank = 8; rank < 16; ++rank) seldom.RunInSteps(rank, kRead, 40, 0, 4, kReadStack);
  EXPECT_THAT(EvaluateSlowHosts(seldom.Finish()), IsEmpty());
}

TEST(SlowHostOperator, SilentWithOneHost) {
  TrainingView job = Job(1);
  Read(job, 0, 7, 10);
  EXPECT_THAT(EvaluateSlowHosts(job.Finish()), IsEmpty());
}

TEST(SlowHostOperator, WhatAStageComputesIsNoFaultOfItsHost) {
  TrainingView one = Job(3);
  InStages(one);
  Read(one, 8, 15, 10, WaitKind::kNone);
  EXPECT_THAT(EvaluateSlowHosts(one.Finish()), IsEmpty());
  TrainingView two = Job(3);
  InStages(two, 2);
  Read(two, 8, 15, 10, WaitKind::kNone);
  EXPECT_THAT(EvaluateSlowHosts(two.Finish()), IsEmpty());
}

TEST(SlowHostOperator, AWaitIsTheHostsWhereAllOfItsStagesDo) {
  TrainingView one = Job(3);
  InStages(one);
  Read(one, 8, 15, 4);
  EXPECT_THAT(EvaluateSlowHosts(one.Finish()), IsEmpty());
  TrainingView two = Job(3);
  InStages(two, 2);
  Read(two, 8, 15, 4);
  EXPECT_THAT(EvaluateSlowHosts(two.Finish()), SizeIs(1));
}

TEST(SlowHostOperator, NoStageNeedsToWaitForATwentiethOfAStep) {
  TrainingView job = Job(3);
  InStages(job);
  Read(job, 8, 15, 10);
  EXPECT_THAT(EvaluateSlowHosts(job.Finish()), SizeIs(1));
}

TEST(SlowHostOperator, AWaitIsTheHostsWhereThePastDidNotKnowIt) {
  TrainingView before = Job(3);
  InStages(before);
  const CrossRankView past(before.Finish().batches(), before.summaries());
  TrainingView job = Job(3);
  InStages(job);
  Read(job, 8, 15, 4);
  job.Finish();
  EXPECT_THAT(EvaluateSlowHosts(job, std::vector<PatternBatch>{past.profile()}), SizeIs(1));
  const CrossRankView same(job.batches(), job.summaries());
  EXPECT_THAT(EvaluateSlowHosts(job, std::vector<PatternBatch>{same.profile(), same.profile()}),
              IsEmpty());
}

TEST(SlowHostOperator, AProcessorThatIsHalfAsBusyIsTakenBySomebodyElse) {
  const auto with_use = [](double here) {
    TrainingView job(24);
    for (uint32_t rank = 0; rank < 24; ++rank)
      job.Run(rank, "dataset.py: __getitem__", rank / 8 == 1 ? 15 : 5)
          .Run(rank, "gpt_model.py: forward", 100);
    InStages(job);
    SetProcessorUse(job, here, 0.8, 1);
    return EvaluateSlowHosts(job.Finish());
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
  const std::vector<Finding> findings = EvaluateSlowHosts(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "function");
  ASSERT_THAT(findings[0].culprits, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_THAT(findings[0].title,
              HasSubstr("Rank 3, which has no peers, holds the others up by 10.0 ms a step"));
}

// It is chance which rank waits longest where all of them do.
TEST(SlowHostOperator, ARankWithoutPeersWaitsForItsProcessorOnlyWhereOthersDoNot) {
  const auto with_others = [](double others_ms) {
    TrainingView job = Pipeline();
    for (uint32_t rank = 0; rank < 8; ++rank)
      job.Run(rank, "(runnable, waiting for a processor)", rank == 3 ? 10 : others_ms);
    for (PatternBatch& batch : job.batches()) batch.patterns.back().wait = WaitKind::kOther;
    return EvaluateSlowHosts(job.Finish()).size();
  };
  EXPECT_EQ(with_others(0.5), 1u);
  EXPECT_EQ(with_others(4), 0u);
}

TEST(SlowHostOperator, WhatAFewSampledStacksShowMustBeSeenInMoreWindows) {
  for (const uint64_t samples : {20u, 2'000u}) {
    TrainingView job = Pipeline();
    Read(job, 3, 3, 10, WaitKind::kNone);
    SetProcessorUse(job, 0.1, 0.1, 0);
    const std::vector<Finding> findings = EvaluateSlowHosts(job.SampleStacks(samples).Finish());
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(FindMeasure(findings[0], kSeenInWindows) != nullptr, samples == 20) << samples;
  }
}

// Errors of sampling add up as the root of the number of windows.
TEST(SlowHostOperator, TheFewerSamplesShowItTheMoreWindowsMust) {
  const auto windows_with = [](uint64_t samples) {
    TrainingView job = Pipeline();
    Read(job, 3, 3, 10, WaitKind::kNone);
    SetProcessorUse(job, 0.1, 0.1, 0);
    const std::vector<Finding> findings = EvaluateSlowHosts(job.SampleStacks(samples).Finish());
    const Measure* measure = findings.empty() ? nullptr : FindMeasure(findings[0], kSeenInWindows);
    return measure == nullptr ? 0.0 : measure->threshold;
  };
  EXPECT_GT(windows_with(10), windows_with(40));
  EXPECT_GE(windows_with(40), 3);
}

// Ranks whose samples show a function in a third of their steps run it all the same.
TEST(SlowHostOperator, WhatOthersRunInFewStepsTheyRun) {
  TrainingView job = Pipeline(4);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    Read(job, rank, rank, rank == 3 ? 10 : 4);
    if (rank != 3) job.batches()[rank].patterns.back().active_steps = 2;
  }
  const std::vector<Finding> findings = EvaluateSlowHosts(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 6e6, 1e3) << "beyond what the others take";
  EXPECT_THAT(findings[0].explanation, HasSubstr("no other rank for more than 4.00 ms"));
}

TEST(SlowHostOperator, SaysInHowManyStepsTheFunctionRuns) {
  TrainingView job = Pipeline();
  Read(job, 3, 3, 10);
  job.Finish();
  for (FunctionPattern& pattern : job.batches()[3].patterns)
    pattern.active_steps = std::min(pattern.active_steps, 6u);
  const std::vector<Finding> findings = EvaluateSlowHosts(job);
  ASSERT_THAT(findings, SizeIs(1));
  ASSERT_NE(FindMeasure(findings[0], "active_steps"), nullptr);
  EXPECT_EQ(FindMeasure(findings[0], "active_steps")->culprit, 6);
}

TEST(SlowHostOperator, WhatAStageOfOneRankComputesMayBeTheStages) {
  TrainingView job = Pipeline();
  Read(job, 3, 3, 10, WaitKind::kNone);
  EXPECT_THAT(EvaluateSlowHosts(job.Finish()), IsEmpty());
}

// The same with kernels, and `struck` ranks that run a function for so long while their devices
// idle.
TrainingView DevicePipeline(double ms, std::vector<uint32_t> struck) {
  TrainingView job(8);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    for (const std::string_view kernel : {"gemm", "attention", "norm"})
      job.Run(rank, kernel, 33, "", FunctionClass::kGpuCompute);
    job.Role(rank, "stage" + std::to_string(rank));
  }
  for (const uint32_t rank : struck)
    job.Run(rank, "record_histogram", ms, "train.py: main > metrics.py: record");
  return job;
}

TEST(SlowHostOperator, NoStageNeedsATwentiethOfAStepWhileItsDeviceIdles) {
  TrainingView job = DevicePipeline(10, {3});
  const std::vector<Finding> findings = EvaluateSlowHosts(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_EQ(findings[0].function, "record_histogram");
  TrainingView three = DevicePipeline(10, {1, 3, 6});
  EXPECT_THAT(EvaluateSlowHosts(three.Finish()), SizeIs(3));
  TrainingView half = DevicePipeline(10, {0, 1, 3, 6});
  EXPECT_THAT(EvaluateSlowHosts(half.Finish()), IsEmpty());
  TrainingView little = DevicePipeline(4, {3});
  EXPECT_THAT(EvaluateSlowHosts(little.Finish()), IsEmpty());
}

TEST(SlowHostOperator, WhatOtherStagesRunWhileTheyWaitIsEverybodys) {
  const auto hidden_on = [](uint32_t ranks) {
    TrainingView job = DevicePipeline(10, {0});
    FunctionPattern hidden = job.batches()[0].patterns.back();
    job.Finish();
    hidden.critical_ns = 0;
    for (uint32_t rank = 1; rank <= ranks; ++rank) {
      std::vector<FunctionPattern>& rows = job.batches()[rank].patterns;
      rows.insert(std::ranges::upper_bound(rows, hidden.function, {}, &FunctionPattern::function),
                  hidden);
    }
    return EvaluateSlowHosts(job);
  };
  EXPECT_THAT(hidden_on(7), IsEmpty());
  EXPECT_THAT(hidden_on(3), IsEmpty());
  EXPECT_THAT(hidden_on(2), SizeIs(1));
}

TEST(SlowHostOperator, OfThreeStagesNobodyIsTheOddOne) {
  TrainingView job = Pipeline(3);
  Read(job, 1, 1, 10);
  EXPECT_THAT(EvaluateSlowHosts(job.Finish()), IsEmpty());
}

TEST(SlowHostOperator, WhatARankWithoutPeersDidNotComputeBeforeIsItsOwn) {
  TrainingView before = Pipeline();
  before.Finish();
  const CrossRankView past(before.batches(), before.summaries());
  TrainingView job = Pipeline();
  Read(job, 3, 3, 10, WaitKind::kNone);
  const std::vector<Finding> findings =
      EvaluateSlowHosts(job.Finish(), std::vector{past.profile()});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  PatternBatch of_another_size = past.profile();
  of_another_size.world_size = 16;
  EXPECT_THAT(EvaluateSlowHosts(job, std::vector{of_another_size}), IsEmpty());
}

// A pipeline of single ranks; rank 5 copies for so long, at so much of the bus.
std::vector<Finding> EvaluateCopies(double ms, double use, uint64_t bytes = 0) {
  TrainingView job = DevicePipeline(0, {});
  for (uint32_t rank = 0; rank < 8; ++rank) {
    job.Run(rank, "Memcpy HtoD (Pinned -> Device)", rank == 5 ? ms : 4, "",
            FunctionClass::kMemoryOp);
    FunctionPattern& copies = job.batches()[rank].patterns.back();
    copies.resource = Resource::kPcieTx;
    copies.resource_samples = use > 0 ? 20 : 0;
    copies.mu = rank == 5 ? use : 0.5;
    copies.bytes = rank == 5 ? bytes : bytes / 2;
  }
  return EvaluateSlowHosts(job.Finish());
}

TEST(SlowHostOperator, NamesARankWithoutPeersThatCopiesSlowly) {
  const std::vector<Finding> findings = EvaluateCopies(16, 0.125);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 5);
  EXPECT_EQ(findings[0].function, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_NEAR(findings[0].lost_ns_per_step, 12e6, 1);
  EXPECT_THAT(findings[0].title,
              HasSubstr("copies between host and device at 25 % of the speed of all other ranks"));
  EXPECT_THAT(EvaluateCopies(16, 0, 1 << 20), SizeIs(1));
}

TEST(SlowHostOperator, SilentOnMoreToCopyOrUnknownOrALittleSlowSpeeds) {
  EXPECT_THAT(EvaluateCopies(16, 0.5), IsEmpty());
  EXPECT_THAT(EvaluateCopies(16, 0), IsEmpty());
  EXPECT_THAT(EvaluateCopies(16, 0.4), IsEmpty());
  EXPECT_THAT(EvaluateCopies(5, 0.2), IsEmpty());
  EXPECT_THAT(EvaluateCopies(8, 0, 1 << 20), IsEmpty());
}

}  // namespace
}  // namespace eroica

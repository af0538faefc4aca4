#include "diagnosis/slow_rank/slow_rank_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "diagnosis/measurements/device_job.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<Finding> Evaluate(TrainingView& job) { return ClaimsOf<SlowRankOperator>(job); }

TrainingView HealthyJob(uint32_t ranks, uint64_t seed = 1) {
  TrainingView job(ranks);
  job.RunOnAll("forward", 40, "train > main").RunOnAll("backward", 40, "train > main");
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> jitter(0, 6);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    for (uint32_t step = 0; step < 8; ++step) job.Jitter(rank, step, jitter(random));
  }
  return job;
}

TEST(SlowRankOperator, NamesTheRankTheFunctionAndTheVictims) {
  TrainingView job = HealthyJob(4);
  job.Run(1, "<built-in function sleep>", 36, "train > main > forward > throttled_layer");
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  const Finding& finding = findings.front();
  EXPECT_EQ(finding.kind, FindingKind::kSlowRank);
  ASSERT_THAT(finding.culprits, SizeIs(1));
  EXPECT_EQ(finding.culprits[0].rank, 1);
  EXPECT_EQ(finding.function, "throttled_layer");
  EXPECT_EQ(finding.stack, "train > main > forward");
  EXPECT_THAT(finding.title, HasSubstr("Rank 1 holds 3 other ranks up by"));
  ASSERT_THAT(finding.victims, SizeIs(3));
  EXPECT_EQ(finding.victims[0].rank, RankId{0});
  EXPECT_NEAR(finding.lost_ns_per_step, 36e6, 4e6);
  EXPECT_GT(finding.confidence, 0.8);
}

TEST(SlowRankOperator, StaysSilentOnHealthyJobsOfEverySize) {
  for (const uint32_t ranks : {2u, 4u, 8u, 64u, 512u}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      TrainingView job = HealthyJob(ranks, seed);
      EXPECT_THAT(Evaluate(job.Finish()), IsEmpty()) << ranks << " ranks, seed " << seed;
    }
  }
}

TEST(SlowRankOperator, AFewSampledStacksAreNoReason) {
  for (const uint64_t samples : {20u, 2'000u}) {
    TrainingView job = HealthyJob(4);
    job.Run(1, "linear", 8).Run(1, "extra", 4).SampleStacks(samples);
    EXPECT_THAT(Evaluate(job.Finish()), SizeIs(samples > 100 ? 1 : 0)) << samples;
  }
}

// All run it now and then, one is late: it would be late of it only if its peers were late of
// theirs.
TEST(SlowRankOperator, WhatPeersRunAsOftenAndInTimeIsNoReason) {
  for (const bool by_turns : {true, false}) {
    TrainingView job(4);
    job.RunOnAll("forward", 60, "main");
    for (uint32_t rank = 0; rank < 4; ++rank) {
      const uint32_t first = by_turns ? 2 * rank : 0;
      job.RunInSteps(rank, "collect", 16, first, first + 2, "main");
    }
    for (uint32_t step = 4; step < 6; ++step) job.Jitter(2, step, by_turns ? 0 : 16);
    const std::vector<Finding> findings = Evaluate(job.Finish());
    EXPECT_THAT(findings, Not(IsEmpty())) << by_turns;
    bool named = false;
    for (const Finding& finding : findings) named = named || finding.function == "collect";
    EXPECT_EQ(named, by_turns);
  }
}

TEST(SlowRankOperator, StaysSilentBelowThreePercentOfAStep) {
  TrainingView job(4);
  job.RunOnAll("forward", 100);
  job.Run(2, "extra", 2.5);
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
  TrainingView louder(4);
  louder.RunOnAll("forward", 100);
  louder.Run(2, "extra", 4);
  EXPECT_THAT(Evaluate(louder.Finish()), SizeIs(1));
}

TEST(SlowRankOperator, ComparesOnlyRanksOfOneRole) {
  TrainingView job(4);
  for (const uint32_t rank : {0u, 2u}) job.Run(rank, "embedding", 50).Role(rank, "stage 0");
  for (const uint32_t rank : {1u, 3u}) job.Run(rank, "head", 90).Role(rank, "stage 1");
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

TEST(SlowRankOperator, FindsAFaultThatComesEveryOtherStep) {
  TrainingView job = HealthyJob(4);
  for (uint32_t step = 0; step < 8; step += 2)
    job.RunInSteps(1, "collect", 160, step, step + 1, "train > main > run_gc");
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 1);
  EXPECT_THAT(findings[0].caveats, ElementsAre(HasSubstr("4 of 8 steps")));
}

// The rank is a little late in all steps; in one of them it saves a checkpoint for longer than the
// others do.
TEST(SlowRankOperator, WhatRunsInASingleStepIsNoHabit) {
  TrainingView job = HealthyJob(4);
  job.Run(1, "forward_more", 60, "train > main");
  for (uint32_t rank = 0; rank < 4; ++rank)
    job.RunInSteps(rank, "save", rank == 1 ? 600 : 300, 5, 6, "train > main > save_checkpoint");
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, Not(IsEmpty()));
  for (const Finding& finding : findings) EXPECT_NE(finding.function, "save_checkpoint");
}

TEST(SlowRankOperator, TwoFaultsAreTwoFindings) {
  TrainingView job = HealthyJob(8);
  job.Run(0, "<built-in function sleep>", 60, "train > read_record")
      .Run(3, "<built-in function sleep>", 40, "train > throttled_layer");
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].function, "read_record");
  EXPECT_EQ(findings[1].function, "throttled_layer");
}

// Four ranks; the thread of rank 1 takes 40 ms in nothing that was recorded, in these steps.
std::vector<Finding> ClaimsOfUnattributedWork(uint64_t lost, FunctionClass recorded,
                                              const std::vector<uint32_t>& steps = {0, 1, 2, 3, 4,
                                                                                    5, 6, 7}) {
  TrainingView job(4);
  job.RunOnAll("forward", 40, "train > main", recorded);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    for (uint32_t step = 0; step < 8; ++step) job.Jitter(rank, step, 40 + (rank + step) % 3);
  }
  for (const uint32_t step : steps) job.Jitter(1, step, 40);
  job.Finish();
  job.batches()[1].completeness = {.events = 10'000, .lost = lost};
  const CrossRankView view(job.batches(), job.summaries());
  std::vector<Finding> findings;
  SlowRankOperator().Evaluate(view, findings);
  return findings;
}

TEST(SlowRankOperator, AStragglerWhoseWorkWasNotRecordedIsNamedWithoutAFunction) {
  struct Case {
    uint64_t lost;
    FunctionClass recorded;
    std::string caveat;
  };
  for (const Case& one :
       {Case{1, FunctionClass::kPython, "at least 1 event of this rank is missing"},
        Case{0, FunctionClass::kCpuOp, "Python call stacks of this rank were not recorded"},
        Case{0, FunctionClass::kPython, "left no events"}}) {
    const std::vector<Finding> findings = ClaimsOfUnattributedWork(one.lost, one.recorded);
    ASSERT_THAT(findings, SizeIs(1)) << one.caveat;
    EXPECT_EQ(findings[0].culprits[0].rank, 1);
    EXPECT_EQ(findings[0].function, "");
    EXPECT_EQ(findings[0].subkind, "undecided");
    EXPECT_THAT(findings[0].title, HasSubstr("in functions that were not recorded"));
    EXPECT_THAT(findings[0].caveats, ElementsAre(HasSubstr(one.caveat)));
    const Measure* unattributed = FindMeasure(findings[0], "unattributed_time_per_step");
    ASSERT_NE(unattributed, nullptr);
    EXPECT_NEAR(unattributed->culprit - unattributed->peers, 40e6, 2e6);
  }
}

// A fault that begins within a recording, or that not every step has, leaves time without events as
// it leaves time in a function.
TEST(SlowRankOperator, TimeWithoutEventsIsAFunctionWhoseNameIsMissing) {
  const std::vector<Finding> findings =
      ClaimsOfUnattributedWork(0, FunctionClass::kCpuOp, {1, 2, 4, 6, 7});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 1);
  EXPECT_EQ(SlowSteps(findings[0])->culprit, 5);
}

TEST(SlowRankOperator, LostWaitsMayLookLikeUnattributedWork) {
  EXPECT_THAT(ClaimsOfUnattributedWork(5'000, FunctionClass::kPython), IsEmpty())
      << "a third of the events is missing";
}

TEST(SlowRankOperator, AStragglerIsNamedWhereAQuarterOfTheRanksIsRecorded) {
  TrainingView job = HealthyJob(4);
  job.Run(1, "<built-in function sleep>", 80, "train > main > forward > throttled_layer");
  job.Finish();
  for (PatternBatch& batch : job.batches()) batch.world_size = 16;
  const CrossRankView view(job.batches(), job.summaries());
  std::vector<Finding> findings;
  SlowRankOperator().Evaluate(view, findings);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 1);
}

// Of a role of eight any of the six others may be the usual one; over many windows, too.
TEST(SlowRankOperator, OfTwoRecordedRanksOfMoreNobodyIsTheOddOne) {
  for (const uint32_t world : {2u, 8u}) {
    std::vector<RankTimes> past;
    std::vector<Finding> findings;
    for (int64_t window = 0; window < 8; ++window) {
      TrainingView job(2, 2);
      job.RunOnAll("forward", 60, "main").Run(1, "fetch", 20, "main");
      job.Jitter(0, static_cast<uint32_t>(window % 2), 1).Finish();
      for (PatternBatch& batch : job.batches()) {
        batch.world_size = world;
        batch.window.index = window;
      }
      const CrossRankView view(job.batches(), job.summaries(), {.times = past});
      past.push_back(view.rank_times());
      findings.clear();
      SlowRankOperator().Evaluate(view, findings);
    }
    EXPECT_THAT(findings, SizeIs(world == 2 ? 1 : 0)) << world;
  }
}

TEST(SlowRankOperator, WorkThatGrowsFromRankToRankIsNobodysFault) {
  TrainingView job(4);
  for (uint32_t rank = 0; rank < 4; ++rank) job.Run(rank, "forward", 30 + 24.0 * rank);
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

TEST(SlowRankOperator, ASlowerDeviceIsNamedAsAWhole) {
  TrainingView job(8);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    for (int kernel = 0; kernel < 10; ++kernel) {
      job.Run(rank, "gemm_" + std::to_string(kernel), rank == 5 ? 13 : 10, "",
              FunctionClass::kGpuCompute);
    }
  }
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 5);
  EXPECT_EQ(findings[0].subkind, "whole_rank");
  EXPECT_EQ(findings[0].function, "every gpu_compute function");
}

TEST(SlowRankOperator, OfARankThatIsSlowerAsAWholeTheLargestPartIsSaid) {
  TrainingView job(8);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    for (int op = 0; op < 10; ++op)
      job.Run(rank, "op_" + std::to_string(op), rank == 5 ? 13 : 10, "", FunctionClass::kCpuOp);
  }
  job.Run(5, "only_here", 10, "", FunctionClass::kCpuOp);
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "whole_rank");
  EXPECT_THAT(findings[0].explanation,
              HasSubstr("For the largest part it runs only_here: 10.0 ms a step"));
  EXPECT_THAT(findings[0].suggested_action, HasSubstr("Look at only_here"));
}

TEST(SlowRankOperator, ARankThatIsALittleSlowerInEverythingIsNoFault) {
  TrainingView job(8);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    for (int kernel = 0; kernel < 10; ++kernel) {
      job.Run(rank, "op_" + std::to_string(kernel), rank == 5 ? 10.9 : 10, "",
              FunctionClass::kCpuOp);
    }
  }
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

TEST(SlowRankOperator, TwoOfManyRanksCannotSupportAFinding) {
  TrainingView job(2);
  job.RunOnAll("forward", 100).Run(0, "extra", 50);
  job.Finish();
  for (PatternBatch& batch : job.batches()) batch.world_size = 128;
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(SlowRankOperator, WaitingForPeersIsNoCause) {
  TrainingView job(4);
  job.RunOnAll("forward", 100);
  job.Run(2, "Work.wait", 50);
  for (FunctionPattern& pattern : job.batches()[2].patterns) {
    if (pattern.name == "Work.wait") pattern.wait = WaitKind::kPeer;
  }
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, Not(IsEmpty()));
  for (const Finding& finding : findings) EXPECT_NE(finding.function, "Work.wait");
  // What is as long and no wait is one.
  for (FunctionPattern& pattern : job.batches()[2].patterns) pattern.wait = WaitKind::kNone;
  EXPECT_THAT(Evaluate(job), Contains(Field(&Finding::function, "Work.wait")));
}

TEST(SlowRankOperator, RemovingAVictimChangesNoCulprit) {
  TrainingView job = HealthyJob(8);
  job.Run(6, "<built-in function sleep>", 30, "train > extra");
  job.Finish();
  job.batches().erase(job.batches().begin() + 2);
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 6);
}

std::vector<Finding> EvaluateDevices(const std::vector<DeviceRank>& ranks,
                                     DeviceJobShape shape = {}) {
  DeviceJob job(ranks, shape);
  return Evaluate(job.view());
}

TEST(SlowRankOperator, ADeviceAtALowerClockIsNamedHoweverLittleSlower) {
  std::vector<DeviceRank> ranks(8);
  ranks[3] = {.data = 1.05, .optimizer = 1.05, .clock = 1 / 1.05};
  const std::vector<Finding> findings = EvaluateDevices(ranks);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_EQ(findings[0].subkind, "whole_rank");
  EXPECT_THAT(findings[0].explanation, HasSubstr("clock"));
}

TEST(SlowRankOperator, ADeviceThatPausesIsNamed) {
  std::vector<DeviceRank> ranks(8);
  ranks[3] = {.paused = 0.08};
  const std::vector<Finding> findings = EvaluateDevices(ranks);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_THAT(findings[0].explanation, HasSubstr("pauses"));
}

// Replicas with longer and shorter sequences differ by up to a tenth. None of that is in the
// optimizer, and a device that pauses is.
TEST(SlowRankOperator, ADeviceAmongUnevenInputsIsToldByItsOptimizer) {
  std::vector<DeviceRank> ranks(8);
  for (uint32_t rank = 0; rank < 8; ++rank) ranks[rank] = {.data = 0.95 + 0.015 * rank};
  EXPECT_THAT(EvaluateDevices(ranks), IsEmpty());
  ranks[3].paused = 0.15;
  const std::vector<Finding> findings = EvaluateDevices(ranks);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_THAT(findings[0].explanation, HasSubstr("none lengthen the optimizer"));
  ranks[3] = {.data = 1.15};
  EXPECT_THAT(EvaluateDevices(ranks), IsEmpty()) << "longer inputs yet";
}

// Of 16 ranks whose devices differ a little, five windows.
std::vector<Finding> AfterWindowsWith(const DeviceRank& odd) {
  std::vector<DeviceRank> ranks(16);
  for (uint32_t rank = 0; rank < 16; ++rank) ranks[rank].data = 1 + 0.0045 * (rank % 3 - 1.0);
  ranks[6] = odd;
  std::vector<RankTimes> past;
  std::vector<Finding> findings;
  for (int64_t window = 0; window < 5; ++window) {
    DeviceJob job(ranks);
    for (PatternBatch& batch : job.view().batches()) batch.window.index = window;
    const CrossRankView view(job.view().batches(), job.view().summaries(), {.times = past});
    past.push_back(view.rank_times());
    findings.clear();
    SlowRankOperator().Evaluate(view, findings);
  }
  return findings;
}

// What a function adds to a device that is slower by no more than healthy ones are is no fault of
// as much as both are late by.
TEST(SlowRankOperator, AFunctionIsNotBlamedForWhatItsDeviceLasts) {
  const std::vector<Finding> findings = AfterWindowsWith({.thread_ms = 2.6});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "fetch");
  EXPECT_THAT(AfterWindowsWith({.data = 1.009, .thread_ms = 1.8}), IsEmpty());
}

// Of calls that are as long on others now and then nobody can say that they are all one rank's.
TEST(SlowRankOperator, TheLongestCallsAreAllOfTheDeviceThatPauses) {
  for (const bool others : {false, true}) {
    std::vector<DeviceRank> ranks(8);
    ranks[3] = {.paused = 0.08};
    DeviceJob job(ranks);
    for (FunctionPattern& kernel : job.view().batches()[6].patterns) {
      if (others)
        kernel.histogram.Add(2 * static_cast<uint64_t>(kernel.duration_mean_ns) + 1'000'000);
    }
    const CrossRankView view(job.view().batches(), job.view().summaries());
    std::vector<Finding> findings;
    SlowRankOperator().Evaluate(view, findings);
    ASSERT_THAT(findings, SizeIs(1));
    const Measure* signs = FindMeasure(findings[0], kSignsThatAgree);
    ASSERT_NE(signs, nullptr);
    EXPECT_EQ(signs->culprit >= signs->threshold, !others);
    EXPECT_EQ(FindMeasure(findings[0], "calls_longer_than_any_of_peers")->culprit, others ? 0 : 56);
  }
}

// Kernels that memory bounds are too small for rows of their own; the optimizer may stand for them.
TEST(SlowRankOperator, WhatADeviceIsUndecidedBetweenIsSaidWithWhatWouldDecide) {
  std::vector<DeviceRank> ranks(16);
  ranks[3] = {.data = 1.07, .optimizer = 1.35};
  const std::vector<Finding> findings = EvaluateDevices(ranks);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].culprits[0].rank, 3);
  EXPECT_THAT(findings[0].explanation,
              HasSubstr("undecided between slower memory and somebody else on the device; what "
                        "would decide: rows of more kernels that memory bounds, a list of its "
                        "processes."));
}

TEST(SlowRankOperator, MoreWorkIsNoSlowRank) {
  std::vector<DeviceRank> ranks(8);
  ranks[3] = {.data = 1.5};
  EXPECT_THAT(EvaluateDevices(ranks), IsEmpty());
  ranks[3] = {.experts = 6, .bytes = 6};
  EXPECT_THAT(EvaluateDevices(ranks, {.experts = true}), IsEmpty());
  ranks[3] = {.experts = 6};
  EXPECT_THAT(EvaluateDevices(ranks, {.experts = true}), SizeIs(1))
      << "the same bytes: a slow kernel";
}

// Tokens are unevenly shared out, and a rank that is sent more computes longer, by other shares in
// some kernels. Without samples of the clock it may be the device.
TEST(SlowRankOperator, WhereRanksExchangeUnequallyMuchTheOptimizerTellsThatItIsNotTheDevice) {
  std::vector<DeviceRank> ranks(8);
  for (uint32_t rank = 0; rank < 8; ++rank)
    ranks[rank] = {.experts = 0.9 + 0.025 * rank, .bytes = 0.9 + 0.025 * rank};
  ranks[3] = {.data = 1.3, .optimizer = 1.085, .experts = 1.6, .bytes = 1.6};
  const DeviceJobShape known{.experts = true, .expert_ms = 40};
  DeviceJobShape unknown = known;
  unknown.samples = false;
  EXPECT_THAT(EvaluateDevices(ranks, unknown), SizeIs(1));
  EXPECT_THAT(EvaluateDevices(ranks, known), IsEmpty());
  ranks[3].optimizer = 1.2;
  ranks[3].clock = 0.8;
  EXPECT_THAT(EvaluateDevices(ranks, known), SizeIs(1)) << "no token lengthens it";
}

TEST(SlowRankOperator, DevicesOfOneKindThatDifferAtRandomAreHealthy) {
  std::vector<DeviceRank> ranks(32);
  for (uint32_t rank = 0; rank < 32; ++rank) {
    const double slower = 1 + 0.01 * ((rank * 7) % 5);
    ranks[rank] = {.data = slower, .optimizer = slower, .clock = 1 / slower};
  }
  EXPECT_THAT(EvaluateDevices(ranks), IsEmpty());
}

TEST(SlowRankOperator, AWaitForWorkersIsSaidAsOne) {
  TrainingView job(4, 16);
  job.RunOnAll("train.py(5): step", 20);
  job.Run(2, "(waiting for the data loader's 2 workers, dataset Slow, train.py:3)", 40);
  const std::vector<Finding> found = ClaimsOf<SlowRankOperator>(job.Finish());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("it waits for its data loader's 2 workers, dataset Slow, "
                                        "train.py:3, for 40.0 ms, its peers for 0."));
  EXPECT_THAT(found[0].suggested_action, HasSubstr("what loads the batches of rank 2"));
  EXPECT_THAT(found[0].explanation, Not(HasSubstr("workers were in")));
}

TEST(SlowRankOperator, AWaitForWorkersSaysWhereTheyWere) {
  const std::string wait = "(waiting for the data loader's 2 workers, dataset Slow, train.py:3)";
  TrainingView job(4, 16);
  job.RunOnAll("train.py(5): step", 20);
  job.Run(2, wait, 40);
  job.Run(2, "train.py(9): decode", 0, wait + " > train.py(3): __getitem__");
  job.batches()[2].patterns.back().total_ns = 160'000'000;
  const std::vector<Finding> found = ClaimsOf<SlowRankOperator>(job.Finish());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].function, wait);
  EXPECT_THAT(found[0].explanation,
              HasSubstr("The workers were in train.py(9): decode for 100 % of that wait, called by "
                        "train.py(3): __getitem__."));
  EXPECT_THAT(found[0].suggested_action,
              HasSubstr("Look at train.py(9): decode in the data loader's workers of rank 2"));
}

// FSDP2 issues a gather while another one waits for the peers: what its thread is seen in makes
// nobody late.
TEST(SlowRankOperator, AFunctionThatLastsLongerThanItsRankIsBusyIsNotItsName) {
  for (const double in_waits_ms : {0.0, 25.0}) {
    TrainingView job(4, 16);
    job.RunOnAll("forward", 15, "train > main");
    job.Run(2, "gather", 30, "train > main");
    for (uint32_t step = 0; step < 16; ++step) job.Jitter(2, step, -in_waits_ms);
    const std::vector<Finding> found = ClaimsOf<SlowRankOperator>(job.Finish());
    if (in_waits_ms > 0) {
      EXPECT_THAT(found, IsEmpty());
    } else {
      ASSERT_THAT(found, SizeIs(1));
      EXPECT_EQ(found[0].function, "gather");
    }
  }
}

}  // namespace
}  // namespace eroica

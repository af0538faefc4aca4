#include "diagnosis/imbalance/imbalance_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "diagnosis/measurements/device_job.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two replicas of a pipeline; work of the stages in ms a step.
TrainingView Pipeline(const std::vector<double>& stage_ms,
                      FunctionClass function_class = FunctionClass::kGpuCompute) {
  const auto stages = static_cast<uint32_t>(stage_ms.size());
  TrainingView job(2 * stages);
  CollectiveSummary& summary = job.AddSummary();
  for (uint32_t rank = 0; rank < 2 * stages; ++rank) {
    const uint32_t stage = rank % stages;
    job.Run(rank, "forward", stage_ms[stage], "", function_class)
        .Role(rank, "stage " + std::to_string(stage));
    if (stage + 1 < stages)
      summary.pairs.push_back(
          {.source = RankId{rank}, .destination = RankId{rank + 1}, .count = 4});
  }
  job.Finish();
  return job;
}

std::vector<Finding> Evaluate(TrainingView& job) { return ClaimsOf<ImbalanceOperator>(job); }

TEST(ImbalanceOperator, OfAFewSampledStacksAStageIsNoHeavierThanTheyTell) {
  for (const uint64_t samples : {20u, 2'000u}) {
    TrainingView job = Pipeline({84, 84, 84, 144}, FunctionClass::kPython);
    job.SampleStacks(samples);
    EXPECT_EQ(Evaluate(job).size(), samples > 100 ? 1u : 0u) << samples;
  }
}

TEST(ImbalanceOperator, AHeavyLastStageIsNamedAndNobodyIsBlamed) {
  TrainingView job = Pipeline({84, 84, 84, 137});
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
  EXPECT_EQ(findings[0].subkind, "stage");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_THAT(findings[0].victims, SizeIs(6));
  EXPECT_THAT(findings[0].title, HasSubstr("stage 3"));
}

// Of stages of one rank each, one runs for long what no other stage runs: a sleep is no layer.
TEST(ImbalanceOperator, WhatOneStageAloneRunsIsNotCalledLayers) {
  for (const bool all_run_it : {false, true}) {
    SCOPED_TRACE(all_run_it);
    constexpr uint32_t kStages = 4;
    TrainingView job(kStages);
    CollectiveSummary& summary = job.AddSummary();
    for (uint32_t rank = 0; rank < kStages; ++rank) {
      const double own_ms = rank == 2 ? 60 : all_run_it ? 20 : 0;
      job.Run(rank, "train.py(3): forward", 40, "", FunctionClass::kPython)
          .Role(rank, "stage " + std::to_string(rank));
      if (own_ms > 0) job.Run(rank, "train.py(9): augment", own_ms, "", FunctionClass::kPython);
      if (rank + 1 < kStages)
        summary.pairs.push_back(
            {.source = RankId{rank}, .destination = RankId{rank + 1}, .count = 4});
    }
    job.Finish();
    const std::vector<Finding> findings = Evaluate(job);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].function, "train.py(9): augment");
    const std::string said = all_run_it ? "is too heavy" : "and no other stage does";
    EXPECT_THAT(findings[0].title, HasSubstr(said));
  }
}

// gloo's sends and receives take locks of a connection that is carrying another operation.
TEST(ImbalanceOperator, TimeInCallsOfTheCommunicationIsNoLayer) {
  const auto findings = [](std::string_view name, std::string_view stack,
                           FunctionClass function_class) {
    TrainingView job = Pipeline({84, 84, 84, 84}, FunctionClass::kPython);
    for (const uint32_t rank : {3u, 7u}) {
      FunctionPattern more = job.batches()[rank].patterns.back();
      more.function = FunctionId{~uint64_t{0}};
      more.name = name;
      more.stack = stack;
      more.function_class = function_class;
      job.batches()[rank].patterns.push_back(more);
    }
    return Evaluate(job).size();
  };
  EXPECT_EQ(findings("c10d::recv_", "", FunctionClass::kCpuOp), 0u);
  EXPECT_EQ(findings("torch/distributed/pipelining/stage.py(933): _retrieve_recv_activations", "",
                     FunctionClass::kPython),
            0u);
  EXPECT_EQ(
      findings("<built-in method recv of ProcessGroup object>",
               "main > torch/distributed/distributed_c10d.py(9): recv", FunctionClass::kPython),
      0u);
  EXPECT_EQ(findings("model.py(9): forward", "torch/distributed/pipelining/stage.py(1): forward",
                     FunctionClass::kPython),
            1u);
}

TEST(ImbalanceOperator, HeadAndLossBesideASingleLayerAreNoHeavyStage) {
  TrainingView job = Pipeline({84, 84, 84, 132});
  EXPECT_THAT(Evaluate(job), SizeIs(1));
  job.RunOnAll("launch", 40);
  EXPECT_THAT(Evaluate(job), IsEmpty()) << "of all work it is a third more";
}

TEST(ImbalanceOperator, OfFunctionsThatTakeAboutAsMuchTheSameIsNamedInAllWindows) {
  for (const double more : {-1.0, 1.0}) {
    TrainingView job = Pipeline({84, 84, 84, 84});
    for (uint32_t rank = 0; rank < job.batches().size(); ++rank) {
      if (job.batches()[rank].role != job.batches()[3].role) continue;
      job.Run(rank, "a_gemm", 84 + more, "", FunctionClass::kGpuCompute);
    }
    const std::vector<Finding> findings = Evaluate(job);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].function, "a_gemm") << more;
  }
}

TEST(ImbalanceOperator, StagesThatDifferByNatureAreSilent) {
  for (const std::vector<double>& stages : {std::vector<double>{76, 100, 98, 150},
                                            {120, 150, 148, 210},
                                            {110, 218},
                                            {100, 100, 100, 140}}) {
    TrainingView job = Pipeline(stages);
    EXPECT_THAT(Evaluate(job), IsEmpty()) << stages.back();
  }
}

// Two replicas of a pipeline of four stages; on the last one `function_class` takes 53 ms of a step
// more.
TrainingView PipelineOnDevices(FunctionClass function_class) {
  TrainingView job = Pipeline({84, 84, 84, 84});
  for (PatternBatch& batch : job.batches()) {
    for (FunctionPattern& pattern : batch.patterns)
      pattern.function_class = FunctionClass::kGpuCompute;
  }
  for (const uint32_t rank : {3u, 7u}) {
    FunctionPattern more = job.batches()[rank].patterns.back();
    more.function = FunctionId{~uint64_t{0}};
    more.function_class = function_class;
    more.critical_ns = static_cast<int64_t>(53 * kNsPerMs * job.batches()[rank].steps.size());
    job.batches()[rank].patterns.push_back(more);
  }
  return job;
}

TEST(ImbalanceOperator, OnDevicesAStageIsHeavyByItsKernels) {
  TrainingView kernels = PipelineOnDevices(FunctionClass::kGpuCompute);
  EXPECT_THAT(Evaluate(kernels), SizeIs(1));
  for (const FunctionClass function_class : {FunctionClass::kPython, FunctionClass::kMemoryOp}) {
    TrainingView others = PipelineOnDevices(function_class);
    EXPECT_THAT(Evaluate(others), IsEmpty());
  }
}

TEST(ImbalanceOperator, OneHeavyRankOfAStageIsNoStageImbalance) {
  TrainingView job = Pipeline({84, 84, 84, 84});
  job.batches()[3].patterns[0].critical_ns *= 2;
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(ImbalanceOperator, RolesWithoutTrafficBetweenThemAreNoStages) {
  TrainingView job = Pipeline({84, 84, 84, 137});
  job.summaries()[0].pairs.clear();
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(ImbalanceOperator, WorkThatGrowsFromRankToRankIsUnevenData) {
  TrainingView job(4);
  for (uint32_t rank = 0; rank < 4; ++rank) job.Run(rank, "forward", 34 + 23.0 * rank, "train");
  const std::vector<Finding> findings = Evaluate(job.Finish());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
  EXPECT_EQ(findings[0].subkind, "data");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_EQ(findings[0].function, "forward");
  EXPECT_THAT(findings[0].victims, SizeIs(3));
}

TEST(ImbalanceOperator, ALoneOutlierIsNoUnevenData) {
  TrainingView job(4);
  job.RunOnAll("forward", 60).Run(2, "forward_more", 40);
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

TEST(ImbalanceOperator, WaitsForAProcessorAreNoWork) {
  const auto job = [](const char* function) {
    TrainingView view(4);
    for (uint32_t rank = 0; rank < 4; ++rank)
      view.Run(rank, "forward", 34).Run(rank, function, 23.0 * rank);
    return Evaluate(view.Finish()).size();
  };
  EXPECT_EQ(job("backward"), 1u);
  EXPECT_EQ(job("(runnable, waiting for a processor)"), 0u);
}

TEST(ImbalanceOperator, AStageThatWaitsForItsProcessorIsNoHeavierStage) {
  const auto job = [](const char* function) {
    TrainingView view = Pipeline({84, 84, 84, 84}, FunctionClass::kPython);
    for (uint32_t rank = 3; rank < view.batches().size(); rank += 4) view.Run(rank, function, 60);
    return Evaluate(view).size();
  };
  EXPECT_EQ(job("backward"), 1u);
  EXPECT_EQ(job("(runnable, waiting for a processor)"), 0u);
}

TEST(ImbalanceOperator, AnOrderThatChangesFromStepToStepIsNoise) {
  TrainingView job(4);
  job.RunOnAll("forward", 60);
  for (uint32_t step = 0; step < 8; ++step) {
    for (uint32_t rank = 0; rank < 4; ++rank)
      job.RunInSteps(rank, "rest", 10.0 * ((rank + step) % 4), step, step + 1);
  }
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

std::vector<Finding> EvaluateDevices(const std::vector<DeviceRank>& ranks,
                                     DeviceJobShape shape = {}) {
  DeviceJob job(ranks, shape);
  return Evaluate(job.view());
}

TEST(ImbalanceOperator, LongerInputsAreNobodysFault) {
  std::vector<DeviceRank> ranks(8);
  ranks[6] = {.data = 1.15};
  ranks[7] = {.data = 1.15};
  const std::vector<Finding> findings = EvaluateDevices(ranks);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "data");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_THAT(findings[0].title, HasSubstr("ranks 6, 7"));
  EXPECT_THAT(findings[0].victims, SizeIs(6));
}

// One device may pause now and then, and miss its optimizer.
TEST(ImbalanceOperator, TwoRanksOrTheBytesOfOneAgreeThatItIsTheWork) {
  const auto agree = [](const std::vector<DeviceRank>& ranks, DeviceJobShape shape = {}) {
    const std::vector<Finding> findings = EvaluateDevices(ranks, shape);
    const Measure* signs = findings.empty() ? nullptr : FindMeasure(findings[0], kSignsThatAgree);
    EXPECT_NE(signs, nullptr);
    return signs != nullptr && signs->culprit >= signs->threshold;
  };
  std::vector<DeviceRank> ranks(8);
  ranks[6] = {.data = 1.15};
  EXPECT_FALSE(agree(ranks));
  ranks[7] = {.data = 1.15};
  EXPECT_TRUE(agree(ranks));
  std::vector<DeviceRank> routed(8);
  routed[2] = {.experts = 2.5, .bytes = 2.5};
  EXPECT_TRUE(agree(routed, {.experts = true}));
}

TEST(ImbalanceOperator, InputsOfManyLengthsAreOneFinding) {
  std::vector<DeviceRank> ranks(16);
  for (uint32_t rank = 0; rank < 16; ++rank) ranks[rank] = {.data = 1 + 0.03 * rank};
  EXPECT_THAT(EvaluateDevices(ranks), SizeIs(1));
}

TEST(ImbalanceOperator, HotExpertsAreNobodysFault) {
  std::vector<DeviceRank> ranks(8);
  for (uint32_t rank = 0; rank < 8; ++rank)
    ranks[rank] = {.experts = 1 + 0.01 * rank, .bytes = 1 + 0.01 * rank};
  ranks[2] = {.experts = 2.5, .bytes = 2.5};
  const std::vector<Finding> findings = EvaluateDevices(ranks, {.experts = true});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "expert");
  EXPECT_EQ(findings[0].function, "grouped_gemm");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_THAT(findings[0].title, HasSubstr("rank 2 exchanges up to 2.4 times the bytes"));
}

TEST(ImbalanceOperator, SlowAndSharedDevicesAreNoImbalance) {
  for (const DeviceRank& odd : {DeviceRank{.data = 1.2, .optimizer = 1.2, .clock = 1 / 1.2},
                                DeviceRank{.data = 1.2, .optimizer = 1.2},
                                DeviceRank{.paused = 0.2}, DeviceRank{.experts = 4}}) {
    std::vector<DeviceRank> ranks(8);
    ranks[2] = odd;
    EXPECT_THAT(EvaluateDevices(ranks, {.experts = true}), IsEmpty());
  }
}

// Lengths that are drawn anew for each step make some rank the slowest in every window, and another
// one in the next.
TEST(ImbalanceOperator, LengthsThatChangeFromStepToStepAreHealthy) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> length(0, 0.15);
  for (int window = 0; window < 200; ++window) {
    TrainingView job(8, 4);
    for (uint32_t rank = 0; rank < 8; ++rank) {
      double sum = 0;
      for (uint32_t step = 0; step < 4; ++step) {
        const double of_step = length(random);
        sum += of_step;
        job.Jitter(rank, step, 80 * (of_step - 1));
      }
      for (int kernel = 0; kernel < 4; ++kernel) {
        job.Run(rank, "gemm_" + std::to_string(kernel), 20, "", FunctionClass::kGpuCompute);
        job.batches()[rank].patterns.back().critical_ns = static_cast<int64_t>(20e6 * sum);
      }
      job.Run(rank, "AdamFunctor", 4, "", FunctionClass::kGpuCompute);
    }
    EXPECT_THAT(Evaluate(job.Finish()), IsEmpty()) << window;
  }
}

TEST(ImbalanceOperator, WhatLongerInputsSendToAnExpertIsNoSecondImbalance) {
  for (const double tokens : {1.12, 1.2, 2.0}) {
    std::vector<DeviceRank> ranks(16);
    ranks[5] = {.data = 1.3};
    ranks[6] = {.experts = tokens, .bytes = tokens};
    DeviceJob job(ranks, {.experts = true, .expert_ms = 60});
    const std::vector<Finding> findings = Evaluate(job.view());
    ASSERT_THAT(findings, SizeIs(tokens < 2 ? 1 : 2));
    EXPECT_EQ(findings[0].subkind, "data");
  }
}

// Four ranks without a device: an operator that exchanges and waits takes what the busiest rank
// computes longer, so that all ranks look equally busy.
std::vector<Finding> EvaluateHost(const std::vector<double>& tokens,
                                  const std::vector<double>& bytes, bool waits = true) {
  TrainingView job(static_cast<uint32_t>(tokens.size()));
  for (uint32_t rank = 0; rank < tokens.size(); ++rank) {
    job.Run(rank, "expert", 30 * tokens[rank], "", FunctionClass::kCpuOp)
        .Run(rank, "attention", 40, "", FunctionClass::kCpuOp);
    if (waits) job.Run(rank, "AllToAll", 5 + 30 * (3 - tokens[rank]), "", FunctionClass::kCpuOp);
    job.Run(rank, "gloo:all_to_all", 1, "", FunctionClass::kCollective);
    job.batches()[rank].patterns.back().bytes = static_cast<uint64_t>(1e6 * bytes[rank]);
    job.batches()[rank].host_only = true;
  }
  return Evaluate(job.Finish());
}

TEST(ImbalanceOperator, WaitsThatHideInOperatorsDoNotHideAHotExpert) {
  const std::vector<double> hot = {0.95, 1, 2.5, 1.05};
  const std::vector<Finding> findings = EvaluateHost(hot, hot);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "expert");
  EXPECT_EQ(findings[0].function, "expert");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_NEAR(findings[0].lost_ns_per_step, 1.5 * 30e6, 2e6);
}

TEST(ImbalanceOperator, AHotExpertNeedsItsBytes) {
  EXPECT_THAT(EvaluateHost({0.95, 1, 2.5, 1.05}, {1, 1, 1, 1}), IsEmpty()) << "equal bytes";
  EXPECT_THAT(EvaluateHost({0.95, 1, 1.3, 1.05}, {0.95, 1, 1.3, 1.05}), IsEmpty())
      << "noise may add up to as much in a window";
}

}  // namespace
}  // namespace eroica

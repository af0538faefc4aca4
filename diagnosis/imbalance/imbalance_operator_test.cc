#include "diagnosis/imbalance/imbalance_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "diagnosis/device_job.h"
#include "diagnosis/finding_measures.h"
#include "diagnosis/training_view.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two replicas of a pipeline; work of the stages in ms a step.
TrainingView Pipeline(const std::vector<double>& stage_ms) {
  const auto stages = static_cast<uint32_t>(stage_ms.size());
  TrainingView job(2 * stages);
  CollectiveSummary& summary = job.AddSummary();
  for (uint32_t rank = 0; rank < 2 * stages; ++rank) {
    const uint32_t stage = rank % stages;
    job.Run(rank, "forward", stage_ms[stage], "", FunctionClass::kGpuCompute).Role(rank, "stage " + std::to_string(stage));
    if (stage + 1 < stages) summary.pairs.push_back({.source = RankId{rank}, .destination = RankId{rank + 1}, .count = 4});
  }
  job.Finish();
  return job;
}

std::vector<Finding> Evaluate(TrainingView& job) { return ClaimsOf<ImbalanceOperator>(job); }

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
  for (const std::vector<double>& stages :
       {std::vector<double>{76, 100, 98, 150}, {120, 150, 148, 210}, {110, 218}, {100, 100, 100, 140}}) {
    TrainingView job = Pipeline(stages);
    EXPECT_THAT(Evaluate(job), IsEmpty()) << stages.back();
  }
}

// Two replicas of a pipeline of four stages; on the last one `function_class` takes 53 ms of a step more.
TrainingView PipelineOnDevices(FunctionClass function_class) {
  TrainingView job = Pipeline({84, 84, 84, 84});
  for (PatternBatch& batch : job.batches()) {
    for (FunctionPattern& pattern : batch.patterns) pattern.function_class = FunctionClass::kGpuCompute;
  }
  for (const uint32_t rank : {3u, 7u}) {
    FunctionPattern more = job.batches()[rank].patterns.back();
    more.function = FunctionId{~uint64_t{0}};
    more.function_class = function_class;
    more.critical_ns = static_cast<int64_t>(53 * kMillisecond * job.batches()[rank].steps.size());
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

struct Stage {
  double layers = 1;   // times the time of the others in every kernel of the layers
  double head_ms = 0;  // in a kernel that layers run, too
  double own_ms = 0;   // in a kernel that no other stage has
  double clock = 1;
  double recompute = 0;  // of the forward kernel, times
  double optimizer_ms = 0;
  double calls = 1;       // of the layers' kernels
  double experts_ms = 0;  // one replica's have a fifth more tokens
};

// Two replicas of a pipeline of layers: 80 ms a step of kernels that every stage runs.
TrainingView LayeredPipeline(const std::vector<Stage>& stages) {
  const auto count = static_cast<uint32_t>(stages.size());
  TrainingView job(2 * count);
  CollectiveSummary& summary = job.AddSummary();
  for (uint32_t rank = 0; rank < 2 * count; ++rank) {
    const uint32_t stage = rank % count;
    const Stage& is = stages[stage];
    job.Role(rank, "stage " + std::to_string(stage));
    job.Run(rank, "attention", 20 * is.layers * (1 + is.recompute), "", FunctionClass::kGpuCompute);
    job.Run(rank, "attention_backward", 40 * is.layers, "", FunctionClass::kGpuCompute);
    job.Run(rank, "norm", 4 * is.layers, "", FunctionClass::kGpuCompute);
    job.Run(rank, "gemm", 16 * is.layers + is.head_ms, "", FunctionClass::kGpuCompute);
    if (is.experts_ms > 0) job.Run(rank, "grouped_gemm", is.experts_ms * (rank < count ? 0.9 : 1.1), "", FunctionClass::kGpuCompute);
    if (is.own_ms > 0) job.Run(rank, "loss", is.own_ms, "", FunctionClass::kGpuCompute);
    for (FunctionPattern& pattern : job.batches()[rank].patterns) {
      pattern.resource = Resource::kGpuSm;
      pattern.resource_samples = 100;
      pattern.mu = 0.9 * is.clock;
      pattern.count = static_cast<uint64_t>(100 * is.calls);
    }
    if (is.optimizer_ms > 0) job.Run(rank, "AdamFunctor", is.optimizer_ms, "", FunctionClass::kGpuCompute);
    if (stage + 1 < count) summary.pairs.push_back({.source = RankId{rank}, .destination = RankId{rank + 1}, .count = 4});
  }
  job.Finish();
  return job;
}

TEST(ImbalanceOperator, AStageWithMoreLayersIsNamedThoughTheHeadIsElsewhere) {
  for (const std::vector<Stage>& stages :
       {std::vector<Stage>{{}, {.layers = 1.25}, {}, {.head_ms = 10, .own_ms = 5}},
        {{}, {.layers = 1.25}},
        {{.own_ms = 16}, {.layers = 1.25}, {}, {.head_ms = 12, .own_ms = 16}}}) {  // embedding and head are nearly as heavy
    TrainingView job = LayeredPipeline(stages);
    const std::vector<Finding> findings = Evaluate(job);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
    EXPECT_THAT(findings[0].culprits, IsEmpty());
    EXPECT_THAT(findings[0].title, HasSubstr("stage 1"));
    EXPECT_NEAR(findings[0].lost_ns_per_step, 20e6, 1e5);
  }
}

// The last stage runs a kernel of the layers a quarter more often, for a head whose calls are as long as it likes.
TrainingView PipelineWithLargeHead(const std::vector<Stage>& stages, double head_call_ms) {
  constexpr uint32_t kHeadCalls = 25;
  TrainingView job = LayeredPipeline(stages);
  const auto count = static_cast<uint32_t>(stages.size());
  for (uint32_t rank = 0; rank < 2 * count; ++rank) {
    for (FunctionPattern& pattern : job.batches()[rank].patterns) {
      pattern.histogram.Add(static_cast<uint64_t>(pattern.critical_ns) / pattern.count, static_cast<uint32_t>(pattern.count));
      const bool in_head = rank % count + 1 == count && pattern.name == "gemm";
      if (!in_head) continue;
      const auto call_ns = static_cast<uint64_t>(head_call_ms * kMillisecond);
      pattern.count += kHeadCalls;
      pattern.critical_ns += static_cast<int64_t>(kHeadCalls * call_ns);
      pattern.histogram.Add(call_ns, kHeadCalls);
    }
  }
  return job;
}

TEST(ImbalanceOperator, AHeadThatRunsAKernelOfTheLayersHidesNoHeavyStage) {
  const Stage longer = {.layers = 1.25, .optimizer_ms = 4};
  const Stage more = {.layers = 1.25, .optimizer_ms = 5, .calls = 1.25};
  for (const auto& [heavy, head_call_ms] : {std::pair(longer, 6.0), std::pair(more, 3.0)}) {
    TrainingView job = PipelineWithLargeHead({heavy, {.optimizer_ms = 4}}, head_call_ms);
    const std::vector<Finding> findings = Evaluate(job);
    ASSERT_THAT(findings, SizeIs(1)) << head_call_ms;
    EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
    EXPECT_THAT(findings[0].title, HasSubstr("stage 0"));
    EXPECT_NEAR(findings[0].lost_ns_per_step, 20e6, 3e6);
  }
  for (const double head_call_ms : {0.5, 3.0, 6.0, 9.0}) {
    TrainingView job = PipelineWithLargeHead({{.optimizer_ms = 4}, {.optimizer_ms = 4}}, head_call_ms);
    EXPECT_THAT(Evaluate(job), IsEmpty()) << head_call_ms;
  }
}

TEST(ImbalanceOperator, LongerLayersAreSeenBesideExperts) {
  TrainingView job = LayeredPipeline({{.experts_ms = 60}, {.layers = 1.25, .experts_ms = 63}, {.experts_ms = 58}, {.experts_ms = 61}});
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
  EXPECT_THAT(findings[0].title, HasSubstr("stage 1"));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 20e6, 1e5);
}

TEST(ImbalanceOperator, BesideExpertsOneLongKernelOrMoreTokensAreNoLongerLayers) {
  for (const Stage& heavy : {Stage{.recompute = 1, .experts_ms = 60}, {.experts_ms = 80}}) {
    TrainingView job = LayeredPipeline({{.experts_ms = 60}, heavy, {.experts_ms = 60}, {.experts_ms = 60}});
    EXPECT_THAT(Evaluate(job), IsEmpty());
  }
}

TEST(ImbalanceOperator, WhatOneStageHasOfItsOwnIsNoImbalanceOfLayers) {
  for (const std::vector<Stage>& stages :
       {std::vector<Stage>{{}, {}, {}, {.head_ms = 12, .own_ms = 10}},                         // the head and the loss
        {{.recompute = 1}, {}, {}, {}},                                                        // one that computes forward twice
        {{.layers = 1.25, .calls = 1.25}, {.head_ms = 12, .own_ms = 10}},                      // fewer layers, and the head
        {{.own_ms = 16}, {.layers = 1.25, .calls = 1.25}, {}, {.head_ms = 12, .own_ms = 16}},  // shared out well
        {{}, {.layers = 1.04}, {}, {}}}) {
    TrainingView job = LayeredPipeline(stages);
    EXPECT_THAT(Evaluate(job), IsEmpty());
  }
}

TEST(ImbalanceOperator, AStageOfSlowDevicesIsTheirClock) {
  TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25, .clock = 0.8}, {}});
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kSlowRank);
  EXPECT_THAT(findings[0].culprits, SizeIs(2));
}

TEST(ImbalanceOperator, TheOptimizerAndTheCallsTellLayersFromDevices) {
  const Stage usual = {.optimizer_ms = 4};
  const auto said = [&usual](const Stage& odd) {
    TrainingView job = LayeredPipeline({usual, usual, odd, usual});
    const std::vector<Finding> findings = Evaluate(job);
    return findings.empty() ? std::string() : findings.front().kind == FindingKind::kImbalance ? "layers" : "device";
  };
  EXPECT_EQ(said({.layers = 1.25, .optimizer_ms = 5, .calls = 1.25}), "layers") << "more of them";
  EXPECT_EQ(said({.layers = 1.25, .optimizer_ms = 4}), "layers") << "longer ones";
  EXPECT_EQ(said({.layers = 1.25, .clock = 0.95, .optimizer_ms = 4}), "layers") << "a clock that explains little of it";
  EXPECT_EQ(said({.layers = 1.25, .optimizer_ms = 5}), "device") << "everything takes longer, and nothing is called more often";
  EXPECT_EQ(said({.layers = 1.25, .clock = 0.95, .optimizer_ms = 10}), "") << "parameters of its own";
  EXPECT_EQ(said({.layers = 1.07, .clock = 0.97, .optimizer_ms = 4}), "") << "next to nothing is left beside the clock";
}

TEST(ImbalanceOperator, AStageThatIsHeavyInSomeStepsHasNoMoreLayers) {
  TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25}, {}});
  for (PatternBatch& batch : job.batches()) {
    if (batch.role != "stage 2") continue;
    for (StepRecord& step : batch.steps) step.peer_wait_ns = step.id % 2 == 0 ? 0 : step.duration_ns * 2 / 5;
  }
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

TEST(ImbalanceOperator, ClockAndOptimizerTellLayersWhereStepsVary) {
  for (const double clock : {1.0, 0.95}) {
    const Stage usual = {.optimizer_ms = 4};
    TrainingView job = LayeredPipeline({usual, usual, {.layers = 1.25, .clock = clock, .optimizer_ms = 4}, usual});
    for (PatternBatch& batch : job.batches()) {
      if (batch.role != "stage 2") continue;
      for (StepRecord& step : batch.steps) step.peer_wait_ns = step.id % 2 == 0 ? 0 : step.duration_ns * 2 / 5;
    }
    const std::vector<Finding> findings = Evaluate(job);
    ASSERT_THAT(findings, SizeIs(clock < 1 ? 0 : 1)) << clock;
    for (const Finding& finding : findings) EXPECT_NE(FindMeasure(finding, kSeenInWindows), nullptr) << "one window is not enough";
  }
}

// How many windows are asked for where stage 2 is heavy, and its median call is so many times the others'.
double WindowsAskedFor(const Stage& heavy, double median_call) {
  const Stage usual = {.optimizer_ms = 4};
  TrainingView job = LayeredPipeline({usual, usual, heavy, usual});
  for (PatternBatch& batch : job.batches()) {
    for (FunctionPattern& pattern : batch.patterns) {
      pattern.histogram = {};
      for (int call = 0; call < 100; ++call) pattern.histogram.Add(static_cast<uint64_t>(2e5 * (batch.role == "stage 2" ? median_call : 1)));
    }
  }
  const std::vector<Finding> findings = Evaluate(job);
  const Measure* seen = findings.size() == 1 ? FindMeasure(findings[0], kSeenInWindows) : nullptr;
  return seen != nullptr ? seen->threshold : 0;
}

TEST(ImbalanceOperator, LayersThatShowInEveryCallAreToldInOneWindow) {
  EXPECT_EQ(WindowsAskedFor({.layers = 1.25, .optimizer_ms = 4}, 1.25), 1) << "longer ones";
  EXPECT_EQ(WindowsAskedFor({.layers = 1.25, .optimizer_ms = 4, .calls = 1.25}, 1), 1) << "more of them";
  EXPECT_EQ(WindowsAskedFor({.layers = 1.25, .optimizer_ms = 4}, 1.15), 2) << "what most calls do not show may be pauses";
}

TEST(ImbalanceOperator, StagesOfWhichEventsAreMissingAreNotLighter) {
  TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25}, {}});
  for (PatternBatch& batch : job.batches()) batch.completeness.events = 1000;
  job.batches()[0].completeness.lost = 100;
  EXPECT_THAT(Evaluate(job), SizeIs(1)) << "one rank of two tells of its stage";
  job.batches()[4].completeness.lost = 100;
  EXPECT_THAT(Evaluate(job), IsEmpty());
}

// Where steps are mostly waiting few kernels are large enough for rows.
TEST(ImbalanceOperator, AFewLargeKernelsDoNotTellOfAllLayers) {
  for (const double folded_ms : {30.0, 60.0}) {
    TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25}, {}});
    for (PatternBatch& batch : job.batches()) {
      batch.folded_critical_ns[static_cast<size_t>(FunctionClass::kGpuCompute)] = static_cast<int64_t>(folded_ms * 8 * kMillisecond);
    }
    EXPECT_EQ(Evaluate(job).size(), folded_ms < 40 ? 1u : 0u) << folded_ms;
  }
}

TEST(ImbalanceOperator, StepsOfLongerSequencesAreLongerOnAllStages) {
  TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25}, {}});
  for (PatternBatch& batch : job.batches()) {
    for (StepRecord& step : batch.steps) {
      const int64_t fifths = 4 + 2 * (step.id % 3);
      step.duration_ns = step.duration_ns * fifths / 5;
      step.peer_wait_ns = step.peer_wait_ns * fifths / 5;
    }
  }
  EXPECT_THAT(Evaluate(job), SizeIs(1));
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
    for (uint32_t rank = 0; rank < 4; ++rank) view.Run(rank, "forward", 34).Run(rank, function, 23.0 * rank);
    return Evaluate(view.Finish()).size();
  };
  EXPECT_EQ(job("backward"), 1u);
  EXPECT_EQ(job("(runnable, waiting for a processor)"), 0u);
}

TEST(ImbalanceOperator, AnOrderThatChangesFromStepToStepIsChance) {
  TrainingView job(4);
  job.RunOnAll("forward", 60);
  for (uint32_t step = 0; step < 8; ++step) {
    for (uint32_t rank = 0; rank < 4; ++rank) job.RunInSteps(rank, "rest", 10.0 * ((rank + step) % 4), step, step + 1);
  }
  EXPECT_THAT(Evaluate(job.Finish()), IsEmpty());
}

std::vector<Finding> EvaluateDevices(const std::vector<DeviceRank>& ranks, DeviceJobShape shape = {}) {
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
  for (uint32_t rank = 0; rank < 8; ++rank) ranks[rank] = {.experts = 1 + 0.01 * rank, .bytes = 1 + 0.01 * rank};
  ranks[2] = {.experts = 2.5, .bytes = 2.5};
  const std::vector<Finding> findings = EvaluateDevices(ranks, {.experts = true});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "expert");
  EXPECT_EQ(findings[0].function, "grouped_gemm");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_THAT(findings[0].title, HasSubstr("rank 2 exchanges up to 2.4 times the bytes"));
}

TEST(ImbalanceOperator, SlowAndSharedDevicesAreNoImbalance) {
  for (const DeviceRank& odd : {DeviceRank{.data = 1.2, .optimizer = 1.2, .clock = 1 / 1.2}, DeviceRank{.data = 1.2, .optimizer = 1.2},
                                DeviceRank{.paused = 0.2}, DeviceRank{.experts = 4}}) {
    std::vector<DeviceRank> ranks(8);
    ranks[2] = odd;
    EXPECT_THAT(EvaluateDevices(ranks, {.experts = true}), IsEmpty());
  }
}

// Lengths that are drawn anew for each step make some rank the slowest in every window, and another one in the next.
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

// Four ranks without a device: an operator that exchanges and waits takes what the busiest rank computes longer, so that all ranks look equally busy.
std::vector<Finding> EvaluateHost(const std::vector<double>& tokens, const std::vector<double>& bytes, bool waits = true) {
  TrainingView job(static_cast<uint32_t>(tokens.size()));
  for (uint32_t rank = 0; rank < tokens.size(); ++rank) {
    job.Run(rank, "expert", 30 * tokens[rank], "", FunctionClass::kCpuOp).Run(rank, "attention", 40, "", FunctionClass::kCpuOp);
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
  EXPECT_THAT(EvaluateHost({0.95, 1, 1.3, 1.05}, {0.95, 1, 1.3, 1.05}), IsEmpty()) << "what a window may add up to by chance";
}

}  // namespace
}  // namespace eroica

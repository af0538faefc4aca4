// Stages of a pipeline by the layers that they run on devices (stage_work.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/imbalance/imbalance_operator.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/finding_measures.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> EvaluateStages(TrainingView& job) { return ClaimsOf<ImbalanceOperator>(job); }

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
    if (is.experts_ms > 0)
      job.Run(rank, "grouped_gemm", is.experts_ms * (rank < count ? 0.9 : 1.1), "",
              FunctionClass::kGpuCompute);
    if (is.own_ms > 0) job.Run(rank, "loss", is.own_ms, "", FunctionClass::kGpuCompute);
    for (FunctionPattern& pattern : job.batches()[rank].patterns) {
      pattern.resource = Resource::kGpuSm;
      pattern.resource_samples = 100;
      pattern.mu = 0.9 * is.clock;
      pattern.count = static_cast<uint64_t>(100 * is.calls);
    }
    if (is.optimizer_ms > 0)
      job.Run(rank, "AdamFunctor", is.optimizer_ms, "", FunctionClass::kGpuCompute);
    if (stage + 1 < count)
      summary.pairs.push_back(
          {.source = RankId{rank}, .destination = RankId{rank + 1}, .count = 4});
  }
  job.Finish();
  return job;
}

TEST(StageLayers, AStageWithMoreLayersIsNamedThoughTheHeadIsElsewhere) {
  for (const std::vector<Stage>& stages :
       {std::vector<Stage>{{}, {.layers = 1.25}, {}, {.head_ms = 10, .own_ms = 5}},
        {{}, {.layers = 1.25}},
        {{.own_ms = 16},
         {.layers = 1.25},
         {},
         {.head_ms = 12, .own_ms = 16}}}) {  // embedding and head are nearly as heavy
    TrainingView job = LayeredPipeline(stages);
    const std::vector<Finding> findings = EvaluateStages(job);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
    EXPECT_THAT(findings[0].culprits, IsEmpty());
    EXPECT_THAT(findings[0].title, HasSubstr("stage 1"));
    EXPECT_NEAR(findings[0].lost_ns_per_step, 20e6, 1e5);
  }
}

// The last stage runs a kernel of the layers a quarter more often, for a head whose calls may be of
// any length.
TrainingView PipelineWithLargeHead(const std::vector<Stage>& stages, double head_call_ms) {
  constexpr uint32_t kHeadCalls = 25;
  TrainingView job = LayeredPipeline(stages);
  const auto count = static_cast<uint32_t>(stages.size());
  for (uint32_t rank = 0; rank < 2 * count; ++rank) {
    for (FunctionPattern& pattern : job.batches()[rank].patterns) {
      pattern.histogram.Add(static_cast<uint64_t>(pattern.critical_ns) / pattern.count,
                            static_cast<uint32_t>(pattern.count));
      const bool in_head = rank % count + 1 == count && pattern.name == "gemm";
      if (!in_head) continue;
      const auto call_ns = static_cast<uint64_t>(head_call_ms * kNsPerMs);
      pattern.count += kHeadCalls;
      pattern.critical_ns += static_cast<int64_t>(kHeadCalls * call_ns);
      pattern.histogram.Add(call_ns, kHeadCalls);
    }
  }
  return job;
}

TEST(StageLayers, AHeadThatRunsAKernelOfTheLayersHidesNoHeavyStage) {
  const Stage longer = {.layers = 1.25, .optimizer_ms = 4};
  const Stage more = {.layers = 1.25, .optimizer_ms = 5, .calls = 1.25};
  for (const auto& [heavy, head_call_ms] : {std::pair(longer, 6.0), std::pair(more, 3.0)}) {
    TrainingView job = PipelineWithLargeHead({heavy, {.optimizer_ms = 4}}, head_call_ms);
    const std::vector<Finding> findings = EvaluateStages(job);
    ASSERT_THAT(findings, SizeIs(1)) << head_call_ms;
    EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
    EXPECT_THAT(findings[0].title, HasSubstr("stage 0"));
    EXPECT_NEAR(findings[0].lost_ns_per_step, 20e6, 3e6);
  }
  for (const double head_call_ms : {0.5, 3.0, 6.0, 9.0}) {
    TrainingView job =
        PipelineWithLargeHead({{.optimizer_ms = 4}, {.optimizer_ms = 4}}, head_call_ms);
    EXPECT_THAT(EvaluateStages(job), IsEmpty()) << head_call_ms;
  }
}

TEST(StageLayers, LongerLayersAreSeenBesideExperts) {
  TrainingView job = LayeredPipeline({{.experts_ms = 60},
                                      {.layers = 1.25, .experts_ms = 63},
                                      {.experts_ms = 58},
                                      {.experts_ms = 61}});
  const std::vector<Finding> findings = EvaluateStages(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
  EXPECT_THAT(findings[0].title, HasSubstr("stage 1"));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 20e6, 1e5);
}

TEST(StageLayers, BesideExpertsOneLongKernelOrMoreTokensAreNoLongerLayers) {
  for (const Stage& heavy : {Stage{.recompute = 1, .experts_ms = 60}, {.experts_ms = 80}}) {
    TrainingView job =
        LayeredPipeline({{.experts_ms = 60}, heavy, {.experts_ms = 60}, {.experts_ms = 60}});
    EXPECT_THAT(EvaluateStages(job), IsEmpty());
  }
}

TEST(StageLayers, WhatOneStageHasOfItsOwnIsNoImbalanceOfLayers) {
  for (const std::vector<Stage>& stages :
       {std::vector<Stage>{{}, {}, {}, {.head_ms = 12, .own_ms = 10}},  // the head and the loss
        {{.recompute = 1}, {}, {}, {}},  // one that computes forward twice
        {{.layers = 1.25, .calls = 1.25},
         {.head_ms = 12, .own_ms = 10}},  // fewer layers, and the head
        {{.own_ms = 16},
         {.layers = 1.25, .calls = 1.25},
         {},
         {.head_ms = 12, .own_ms = 16}},  // shared out well
        {{}, {.layers = 1.04}, {}, {}}}) {
    TrainingView job = LayeredPipeline(stages);
    EXPECT_THAT(EvaluateStages(job), IsEmpty());
  }
}

TEST(StageLayers, AStageOfSlowDevicesIsTheirClock) {
  TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25, .clock = 0.8}, {}});
  const std::vector<Finding> findings = EvaluateStages(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kSlowRank);
  EXPECT_THAT(findings[0].culprits, SizeIs(2));
}

TEST(StageLayers, TheOptimizerAndTheCallsTellLayersFromDevices) {
  const Stage usual = {.optimizer_ms = 4};
  const auto said = [&usual](const Stage& odd) {
    TrainingView job = LayeredPipeline({usual, usual, odd, usual});
    const std::vector<Finding> findings = EvaluateStages(job);
    return findings.empty()                                   ? std::string()
           : findings.front().kind == FindingKind::kImbalance ? "layers"
                                                              : "device";
  };
  EXPECT_EQ(said({.layers = 1.25, .optimizer_ms = 5, .calls = 1.25}), "layers") << "more of them";
  EXPECT_EQ(said({.layers = 1.25, .optimizer_ms = 4}), "layers") << "longer ones";
  EXPECT_EQ(said({.layers = 1.25, .clock = 0.95, .optimizer_ms = 4}), "layers")
      << "a clock that explains little of it";
  EXPECT_EQ(said({.layers = 1.25, .optimizer_ms = 5}), "device")
      << "everything takes longer, and nothing is called more often";
  EXPECT_EQ(said({.layers = 1.25, .clock = 0.95, .optimizer_ms = 10}), "layers")
      << "parameters of its own";
  EXPECT_EQ(said({.layers = 1.07, .clock = 0.96, .optimizer_ms = 4}), "")
      << "the clock may explain all of it";
}

TEST(StageLayers, AStageThatIsHeavyInSomeStepsHasNoMoreLayers) {
  TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25}, {}});
  for (PatternBatch& batch : job.batches()) {
    if (batch.role != "stage 2") continue;
    for (StepRecord& step : batch.steps)
      step.peer_wait_ns = step.id % 2 == 0 ? 0 : step.duration_ns * 2 / 5;
  }
  EXPECT_THAT(EvaluateStages(job), IsEmpty());
}

TEST(StageLayers, ClockAndOptimizerTellLayersWhereStepsVary) {
  for (const double clock : {1.0, 0.95}) {
    const Stage usual = {.optimizer_ms = 4};
    TrainingView job =
        LayeredPipeline({usual, usual, {.layers = 1.25, .clock = clock, .optimizer_ms = 4}, usual});
    for (PatternBatch& batch : job.batches()) {
      if (batch.role != "stage 2") continue;
      for (StepRecord& step : batch.steps)
        step.peer_wait_ns = step.id % 2 == 0 ? 0 : step.duration_ns * 2 / 5;
    }
    const std::vector<Finding> findings = EvaluateStages(job);
    ASSERT_THAT(findings, SizeIs(1)) << clock;
    EXPECT_EQ(findings[0].kind, FindingKind::kImbalance) << "a clock that explains little of it";
    for (const Finding& finding : findings)
      EXPECT_NE(FindMeasure(finding, kSeenInWindows), nullptr) << "one window is not enough";
  }
}

// How many windows are asked for where stage 2 is heavy, and its median call is so many times the
// others'.
double WindowsAskedFor(const Stage& heavy, double median_call) {
  const Stage usual = {.optimizer_ms = 4};
  TrainingView job = LayeredPipeline({usual, usual, heavy, usual});
  for (PatternBatch& batch : job.batches()) {
    for (FunctionPattern& pattern : batch.patterns) {
      pattern.histogram = {};
      for (int call = 0; call < 100; ++call)
        pattern.histogram.Add(
            static_cast<uint64_t>(2e5 * (batch.role == "stage 2" ? median_call : 1)));
    }
  }
  const std::vector<Finding> findings = EvaluateStages(job);
  const Measure* seen = findings.size() == 1 ? FindMeasure(findings[0], kSeenInWindows) : nullptr;
  return seen != nullptr ? seen->threshold : 0;
}

TEST(StageLayers, LayersThatShowInEveryCallAreToldInOneWindow) {
  EXPECT_EQ(WindowsAskedFor({.layers = 1.25, .optimizer_ms = 4}, 1.25), 1) << "longer ones";
  EXPECT_EQ(WindowsAskedFor({.layers = 1.25, .optimizer_ms = 4, .calls = 1.25}, 1), 1)
      << "more of them";
  EXPECT_EQ(WindowsAskedFor({.layers = 1.25, .optimizer_ms = 4}, 1.15), 2)
      << "what most calls do not show may be pauses";
}

TEST(StageLayers, StagesOfWhichEventsAreMissingAreNotLighter) {
  TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25}, {}});
  for (PatternBatch& batch : job.batches()) batch.completeness.events = 1000;
  job.batches()[0].completeness.lost = 100;
  EXPECT_THAT(EvaluateStages(job), SizeIs(1)) << "one rank of two is enough for its stage";
  job.batches()[4].completeness.lost = 100;
  EXPECT_THAT(EvaluateStages(job), IsEmpty());
}

// Where steps are mostly waiting few kernels are large enough for rows.
TEST(StageLayers, AFewLargeKernelsDoNotTellOfAllLayers) {
  for (const double folded_ms : {30.0, 60.0}) {
    TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25}, {}});
    for (PatternBatch& batch : job.batches()) {
      batch.folded_critical_ns[static_cast<size_t>(FunctionClass::kGpuCompute)] =
          static_cast<int64_t>(folded_ms * 8 * kNsPerMs);
    }
    EXPECT_EQ(EvaluateStages(job).size(), folded_ms < 40 ? 1u : 0u) << folded_ms;
  }
}

TEST(StageLayers, StepsOfLongerSequencesAreLongerOnAllStages) {
  TrainingView job = LayeredPipeline({{}, {}, {.layers = 1.25}, {}});
  for (PatternBatch& batch : job.batches()) {
    for (StepRecord& step : batch.steps) {
      const int64_t fifths = 4 + 2 * (step.id % 3);
      step.duration_ns = step.duration_ns * fifths / 5;
      step.peer_wait_ns = step.peer_wait_ns * fifths / 5;
    }
  }
  EXPECT_THAT(EvaluateStages(job), SizeIs(1));
}

}  // namespace
}  // namespace eroica

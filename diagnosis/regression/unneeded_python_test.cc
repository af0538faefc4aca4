#include "diagnosis/regression/unneeded_python.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/measurements/training_view.h"
#include "diagnosis/regression/regression_operator.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kMain[] = "train.py: <module> > train.py: main";
constexpr char kForward[] = "train.py: <module> > train.py: main > model.py: forward";
constexpr char kMetrics[] = "train.py: <module> > train.py: main > metrics.py: compute_metrics";
constexpr char kSleep[] = "<built-in function sleep>";

// A step of 100 ms, half of it in the forward pass; host_only: what Python runs there stands for
// kernels.
TrainingView Job(uint32_t ranks = 4, bool host_only = true) {
  TrainingView job(ranks);
  if (host_only) job.RunOnAll("layers", 50, kForward);
  if (!host_only) job.RunOnAll("gemm", 50, "", FunctionClass::kGpuCompute);
  for (PatternBatch& batch : job.batches()) batch.host_only = host_only;
  return job;
}

std::optional<UnneededPython> Find(TrainingView& job) {
  job.Finish();
  const CrossRankView view(job.batches(), job.summaries());
  return FindUnneededPython(view, {});
}

TEST(UnneededPython, NamesTheFunctionThatAllRanksSpendTheirStepsIn) {
  TrainingView job = Job();
  job.RunOnAll(kSleep, 40, kMetrics).RunOnAll("metrics.py: compute_metrics", 5, kMain);
  const std::optional<UnneededPython> found = Find(job);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "metrics.py: compute_metrics");
  EXPECT_EQ(found->stack, kMain);
  EXPECT_NEAR(found->ns, 45e6, 1e3);
  EXPECT_EQ(found->ranks, 4u);
}

// Where Python computes, an environment's step and a tokenizer are part of the training.
TEST(UnneededPython, WithoutADeviceWhatComputesMayBeNeeded) {
  TrainingView job = Job();
  job.RunOnAll("env.py: step", 40, kMain);
  EXPECT_FALSE(Find(job).has_value());
  TrainingView sleeps_a_little = Job();
  sleeps_a_little.RunOnAll("env.py: step", 40, kMain)
      .RunOnAll(kSleep, 30, std::string(kMain) + " > env.py: step");
  EXPECT_FALSE(Find(sleeps_a_little).has_value());
}

TEST(UnneededPython, WhatTrainingIsMadeOfIsNeeded) {
  for (const char* stack :
       {kForward, "train.py: main > torch/autograd/graph.py: _engine_run_backward",
        "train.py: main > torch/optim/sgd.py: step", "train.py: main > dataloader.py: __next__",
        "train.py: main > checkpointing.py: save_checkpoint",
        "train.py: main > torch/distributed/distributed_c10d.py: all_reduce"}) {
    TrainingView job = Job();
    job.RunOnAll(kSleep, 40, stack);
    EXPECT_FALSE(Find(job).has_value()) << stack;
  }
}

// Traces without stacks hold what frameworks annotate instead.
TEST(UnneededPython, AnAnnotationSaysNothingOfWhatRanInIt) {
  TrainingView job = Job();
  job.RunOnAll("DistributedDataParallel.forward", 40, "");
  EXPECT_FALSE(Find(job).has_value());
}

// JAX: the compiled step is called by the script itself, and C++ shows no frames.
TEST(UnneededPython, AModuleThatIsTheTrainingLoopIsNeeded) {
  for (const bool host_only : {true, false}) {
    TrainingView job = Job(4, host_only);
    job.RunOnAll("train.py: <module>", 45).RunOnAll("data.py: shuffle", 3, "train.py: <module>");
    EXPECT_FALSE(Find(job).has_value()) << host_only;
  }
}

TEST(UnneededPython, AFunctionThatIsTheTrainingLoopIsNeeded) {
  TrainingView job = Job();
  job.RunOnAll(kSleep, 45, "train.py: <module> > train.py: main");
  EXPECT_FALSE(Find(job).has_value());
  TrainingView thread = Job(4, false);
  constexpr char kThread[] = "threading.py: _bootstrap > threading.py: run";
  thread.RunOnAll("train.py: loop", 40, kThread)
      .RunOnAll("train.py: log", 2, std::string(kThread) + " > train.py: loop");
  EXPECT_FALSE(Find(thread).has_value());
}

// A job whose training bears none of the known names: no function of it can be called unneeded.
TEST(UnneededPython, WhereNoTrainingIsRecognizedNothingIsUnneeded) {
  TrainingView job(4);
  for (PatternBatch& batch : job.batches()) batch.host_only = true;
  job.RunOnAll("solver.py: advance", 60, kMain).RunOnAll(kSleep, 20, kMetrics);
  EXPECT_FALSE(Find(job).has_value());
}

// As producers saw Ray Train until they followed the thread that trains.
TEST(UnneededPython, AMainThreadThatOnlyWaitsForItsTrainerIsNoWork) {
  TrainingView job(4);
  for (PatternBatch& batch : job.batches()) batch.host_only = true;
  job.RunOnAll(kSleep, 90, "default_worker.py: <module> > worker.py: main_loop")
      .RunOnAll("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 5);
  EXPECT_FALSE(Find(job).has_value());
}

TEST(UnneededPython, OneRankWithoutItIsNotAll) {
  TrainingView job = Job();
  for (uint32_t rank = 0; rank < 3; ++rank) job.Run(rank, kSleep, 40, kMetrics);
  EXPECT_FALSE(Find(job).has_value());
}

TEST(UnneededPython, RanksThatDifferAreComparedByOthers) {
  TrainingView job = Job();
  job.RunOnAll(kSleep, 40, kMetrics)
      .Run(2, kSleep, 40, std::string(kMetrics) + " > metrics.py: again");
  EXPECT_FALSE(Find(job).has_value());
}

TEST(UnneededPython, WhatComesNowAndThenIsNotEveryStep) {
  TrainingView job = Job();
  for (uint32_t rank = 0; rank < 4; ++rank) job.RunInSteps(rank, kSleep, 400, 2, 4, kMetrics);
  EXPECT_FALSE(Find(job).has_value());
}

TEST(UnneededPython, SmallSharesAndWaitsAreExpected) {
  TrainingView small = Job();
  small.RunOnAll(kSleep, 5, kMetrics);
  EXPECT_FALSE(Find(small).has_value());
  TrainingView waits = Job();
  waits.RunOnAll("queue.py: get", 40, kMain);
  for (PatternBatch& batch : waits.batches()) batch.patterns.back().wait = WaitKind::kOther;
  EXPECT_FALSE(Find(waits).has_value());
}

TEST(UnneededPython, TwoRanksAreTooFewToSpeakOfAll) {
  TrainingView job = Job(2);
  job.RunOnAll(kSleep, 40, kMetrics);
  EXPECT_FALSE(Find(job).has_value());
}

TEST(UnneededPython, OnDevicesPythonInTheForwardPassLetsThemIdle) {
  TrainingView job = Job(4, false);
  job.RunOnAll("masks.py: build_attention_mask", 15, kForward);
  const std::optional<UnneededPython> found = Find(job);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "masks.py: build_attention_mask");
  TrainingView many = Job(4, false);
  for (int i = 0; i < 10; ++i) many.RunOnAll("layer_" + std::to_string(i), 3, kForward);
  EXPECT_FALSE(Find(many).has_value())
      << "a job bound by launches spends its time in many functions";
}

TEST(UnneededPython, WithoutKernelsNothingIsKnownOfADevice) {
  TrainingView job(4);
  job.RunOnAll("masks.py: build_attention_mask", 15, kForward).RunOnAll("train.py: main", 60);
  EXPECT_FALSE(Find(job).has_value());
}

TEST(RegressionOperator, WithoutAPastTheExpectationSpeaks) {
  TrainingView job = Job(8);
  job.RunOnAll(kSleep, 40, kMetrics).Finish();
  const CrossRankView view(job.batches(), job.summaries());
  std::vector<Finding> findings;
  RegressionOperator().Evaluate(view, findings);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kRegression);
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_EQ(findings[0].function, "metrics.py: compute_metrics");
  EXPECT_THAT(findings[0].title, HasSubstr("of every step on all 8 ranks"));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 40e6, 1e3);
}

}  // namespace
}  // namespace eroica

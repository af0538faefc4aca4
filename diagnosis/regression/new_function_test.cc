#include "diagnosis/regression/new_function.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/suppressed_steps.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

struct Reads {
  double ms = 0;
  uint32_t last = 4;        // step of eight, not included
  double less_forward = 0;  // what the forward pass saves meanwhile
  double longer_inputs = 1;
  FunctionClass function_class = FunctionClass::kPython;
  double waits_ms = 0;      // of every rank for the others, in every step
  double processor_ms = 0;  // likewise for a processor
};

// A window of four ranks whose steps vary by up to 40 ms, by the same amount on all of them.
TrainingView WindowOfReads(uint32_t index, const Reads& reads) {
  TrainingView job(4);
  job.RunOnAll("forward", 100 - reads.less_forward);
  job.RunOnAll("gemm", 30 * reads.longer_inputs, "", FunctionClass::kGpuCompute);
  if (reads.processor_ms > 0)
    job.RunOnAll("(runnable, waiting for a processor)", reads.processor_ms);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    for (uint32_t step = 0; step < 8; ++step)
      job.Jitter(rank, step, 5.0 * ((7 * index + 3 * step) % 9));
    if (reads.ms > 0)
      job.RunInSteps(rank, "read", reads.ms, 0, reads.last, "train.py: main", reads.function_class);
  }
  job.Finish();
  for (PatternBatch& batch : job.batches()) {
    for (StepRecord& step : batch.steps) {
      step.duration_ns += static_cast<int64_t>(reads.waits_ms * kNsPerMs);
      step.peer_wait_ns += static_cast<int64_t>(reads.waits_ms * kNsPerMs);
    }
  }
  return job;
}

// The name of what is found in the last of these windows.
std::string Find(const std::vector<Reads>& windows) {
  std::vector<PatternBatch> history;
  for (uint32_t i = 0; i + 1 < windows.size(); ++i) {
    TrainingView window = WindowOfReads(i, windows[i]);
    history.push_back(CrossRankView(window.batches(), window.summaries()).profile());
  }
  TrainingView last = WindowOfReads(static_cast<uint32_t>(windows.size()) - 1, windows.back());
  const CrossRankView view(last.batches(), last.summaries());
  const std::optional<NewFunction> found = FindNewFunction(view, history, {});
  return found ? found->row->name : "";
}

constexpr Reads kAlways{.ms = 10, .last = 8};

TEST(NewFunction, IsToldThoughTheStepsVaryByMore) {
  EXPECT_EQ(Find({{}, {}, {}, kAlways, kAlways}), "read");
  EXPECT_EQ(Find({{}, {}, kAlways, kAlways}), "read");
}

// Functions are watched in the steps of warm-up, too.
TEST(NewFunction, StepsThatDoNotCountMakeNoFunctionLonger) {
  TrainingView job(4);
  job.RunOnAll("forward", 100).Finish();
  ASSERT_EQ(SuppressSteps(job.batches()).warm_up, 3u);
  const PatternBatch profile = CrossRankView(job.batches(), job.summaries()).profile();
  EXPECT_EQ(profile.steps.size(), 5u);
  EXPECT_NEAR(FunctionNsOf(profile, job.batches()[0].patterns[0].function), 100e6, 1);
}

TEST(NewFunction, SilentInTheFirstWindowOfIt) { EXPECT_EQ(Find({{}, {}, {}, kAlways}), ""); }

TEST(NewFunction, SilentWhereThePastKnewIt) {
  EXPECT_EQ(Find({{}, kAlways, {}, kAlways, kAlways}), "");
}

TEST(NewFunction, SilentWithoutAPast) { EXPECT_EQ(Find({{}, kAlways, kAlways}), ""); }

TEST(NewFunction, SilentBelowAShareOfAStepOrInHalfOfThem) {
  EXPECT_EQ(Find({{}, {}, {}, {.ms = 2, .last = 8}, {.ms = 2, .last = 8}}), "");
  EXPECT_EQ(Find({{}, {}, {}, {.ms = 20}, {.ms = 20}}), "");
}

TEST(NewFunction, SilentWhereItTookAnothersPlace) {
  const Reads instead{.ms = 10, .last = 8, .less_forward = 10};
  EXPECT_EQ(Find({{}, {}, {}, instead, instead}), "");
}

// They lie in whatever the ranks run, and are nothing that the job has taken up.
TEST(NewFunction, SilentOnWaitsForProcessorsAndWhatTheyExplain) {
  const Reads waits{.processor_ms = 12};
  EXPECT_EQ(Find({{}, {}, {}, waits, waits}), "");
  const auto reads = [](double processor_ms) {
    return Reads{.ms = 20, .last = 8, .processor_ms = processor_ms};
  };
  EXPECT_EQ(Find({{}, {}, {}, reads(25), reads(25)}), "");
  EXPECT_EQ(Find({{}, {}, {}, reads(5), reads(5)}), "read");
}

TEST(NewFunction, SilentOnKernels) {
  const Reads kernel{.ms = 10, .last = 8, .function_class = FunctionClass::kGpuCompute};
  EXPECT_EQ(Find({{}, {}, {}, kernel, kernel}), "");
}

// Four stages of four ranks. All run "mask" at the beginning of a step, of which the last three
// stages' receive hides all but a little, on some ranks and in some windows.
TrainingView Pipeline(uint32_t index, double ms, bool runs_everywhere) {
  TrainingView job(16);
  for (uint32_t rank = 0; rank < 16; ++rank) {
    job.Role(rank, "stage" + std::to_string(rank / 4)).Run(rank, "forward", 100);
    if (ms == 0) continue;
    const double seen = rank < 4 ? ms : (rank + index) % 3 == 0 ? 0 : 1.0 + (7 * index + rank) % 5;
    if (seen > 0) job.RunInSteps(rank, "mask", seen, 0, rank < 4 ? 8 : 3);
    if (rank < 4 || !runs_everywhere || seen == 0) continue;
    job.batches()[rank].patterns.back().total_ns = static_cast<int64_t>(ms * 8 * kNsPerMs);
  }
  job.Finish();
  return job;
}

bool FindInPipeline(bool runs_everywhere) {
  std::vector<PatternBatch> history;
  for (uint32_t i = 0; i < 5; ++i) {
    TrainingView window = Pipeline(i, i < 4 ? 0 : 10, runs_everywhere);
    history.push_back(CrossRankView(window.batches(), window.summaries()).profile());
  }
  TrainingView last = Pipeline(5, 10, runs_everywhere);
  const CrossRankView view(last.batches(), last.summaries());
  const std::optional<NewFunction> found = FindNewFunction(view, history, {});
  return found && found->row->name == "mask" && std::abs(found->now_ns - 10e6) < 1;
}

TEST(NewFunction, IsWhatItTakesOnTheStageThatItIsCriticalOnWhereWaitsHideItOnTheOthers) {
  EXPECT_TRUE(FindInPipeline(true));
  EXPECT_FALSE(FindInPipeline(false)) << "one stage runs it, the others hardly do";
}

Reads Kernel(double ms) {
  return {.ms = ms, .last = 8, .function_class = FunctionClass::kGpuCompute};
}

TEST(NewFunction, AKernelThatTakesFarMoreThanItEverDidIsToldThoughTheStepsVaryByMore) {
  EXPECT_EQ(Find({Kernel(20), Kernel(21), Kernel(20), Kernel(20), Kernel(30), Kernel(30)}), "read");
}

// Stages of a pipeline wait for each other for half of a step: by what kernels take longer on all
// of them, these waits are longer, too.
TEST(NewFunction, AKernelCountsByWhatRanksWork) {
  const auto waiting = [](Reads reads, double waits_ms) {
    reads.waits_ms = waits_ms;
    return reads;
  };
  const Reads before = waiting(Kernel(20), 170);
  const Reads now = waiting(Kernel(27), 177);
  EXPECT_EQ(Find({before, before, before, before, now, now}), "read");
  const Reads little = waiting(Kernel(4), 170);
  const Reads little_more = waiting(Kernel(6), 177);
  EXPECT_EQ(Find({little, little, little, little, little_more, little_more}), "")
      << "one percent of the work";
  const Reads none = waiting({}, 170);
  const Reads python = waiting({.ms = 7, .last = 8}, 177);
  EXPECT_EQ(Find({none, none, none, none, python, python}), "")
      << "a thread may run it while the device works";
}

TEST(NewFunction, AWindowWithTheChangeInItsMidstIsNoPast) {
  EXPECT_EQ(
      Find({Kernel(20), Kernel(21), Kernel(20), Kernel(20), Kernel(26), Kernel(30), Kernel(30)}),
      "read");
  EXPECT_EQ(
      Find({Kernel(20), Kernel(26), Kernel(20), Kernel(26), Kernel(20), Kernel(30), Kernel(30)}),
      "")
      << "it always varied";
}

TEST(NewFunction, SilentWhereLongerInputsLengthenAllKernels) {
  Reads longer = Kernel(30);
  longer.longer_inputs = 1.2;
  EXPECT_EQ(Find({Kernel(20), Kernel(21), Kernel(20), Kernel(20), longer, longer}), "");
}

TEST(NewFunction, SilentOnAKernelThatVariesOrWhosePastIsShort) {
  EXPECT_EQ(Find({Kernel(20), Kernel(25), Kernel(20), Kernel(20), Kernel(33), Kernel(33)}), "");
  EXPECT_EQ(Find({Kernel(20), Kernel(21), Kernel(20), Kernel(30), Kernel(30)}), "");
  EXPECT_EQ(Find({Kernel(60), Kernel(60), Kernel(60), Kernel(60), Kernel(72), Kernel(72)}), "");
  EXPECT_EQ(Find({Kernel(20), Kernel(21), Kernel(20), Kernel(20), Kernel(20), Kernel(30)}), "");
}

}  // namespace
}  // namespace eroica

// One window of a large job from its batches to its findings, all operators, on one core. DESIGN 12
// and the targets of the diagnosis: 10,000 ranks x 100 functions in 100 ms, 100,000 x 20 in 300 ms.
//
// The job: tensor-parallel groups of 8, data-parallel groups across them; most functions are
// kernels, the others Python frames. Healthy: log-normal jitter alone. Faulty: one rank runs one
// kernel for 15 % of the step more, and its peers wait for it in every step.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "diagnosis/explanation/root_cause.h"
#include "diagnosis/measurements/cross_rank_view.h"
#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/lasting_excess.h"
#include "diagnosis/measurements/synthetic_job.h"
#include "stream_ops/diagnose/window_snapshot.h"

namespace eroica {
namespace {

constexpr uint32_t kTensorParallel = 8;
constexpr int64_t kStepNs = kSyntheticWindowNs / 10;

struct LargeJob {
  SyntheticJob job;
  double pattern_bytes = 0;
};

FunctionClass ClassOf(uint32_t function) {
  return function % 4 == 3 ? FunctionClass::kPython : FunctionClass::kGpuCompute;
}

void AddGroups(uint32_t ranks, SyntheticJob& job) {
  std::vector<uint32_t> members(kTensorParallel);
  for (uint32_t first = 0; first < ranks; first += kTensorParallel) {
    for (uint32_t i = 0; i < kTensorParallel; ++i) members[i] = first + i;
    job.Group(members);
  }
  std::vector<uint32_t> peers;
  for (uint32_t shard = 0; shard < kTensorParallel; ++shard) {
    peers.clear();
    for (uint32_t rank = shard; rank < ranks; rank += kTensorParallel) peers.push_back(rank);
    job.Group(peers);
  }
}

LargeJob Make(uint32_t ranks, uint32_t functions, bool faulty) {
  LargeJob large{.job = SyntheticJob(ranks)};
  SyntheticJob& job = large.job;
  std::mt19937 random(1);
  std::normal_distribution<double> jitter(0, 0.01);
  const uint32_t culprit = ranks / 3;
  const double beta = 0.8 / functions;
  const double extra = faulty ? 0.15 : 0;
  for (uint32_t f = 0; f < functions; ++f) {
    const std::string name = fmt::format("function_{}", f);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const double own = beta * std::exp(jitter(random)) + (f == 0 && rank == culprit ? extra : 0);
      const bool kernel = ClassOf(f) == FunctionClass::kGpuCompute;
      job.Run(rank, ClassOf(f), name, own, kernel ? 0.9 * std::exp(jitter(random)) : -1, 0.1);
    }
  }
  for (PatternBatch& batch : job.batches) {
    batch.host = fmt::format("host{}", batch.rank.value / 8);
    batch.completeness.events = 100'000;
    for (StepRecord& step : batch.steps) {
      const double wait =
          0.02 * std::exp(jitter(random)) + (batch.rank.value == culprit ? 0 : extra);
      step.peer_wait_ns = static_cast<int64_t>(wait * static_cast<double>(kStepNs));
      const auto forward_ns =
          static_cast<int64_t>(0.3 * std::exp(jitter(random)) * static_cast<double>(kStepNs));
      step.stage_ns = {0, forward_ns, step.duration_ns - forward_ns, 0};
    }
    for (FunctionPattern& pattern : batch.patterns)
      pattern.duration_mean_ns =
          static_cast<double>(pattern.critical_ns) / static_cast<double>(pattern.count);
    large.pattern_bytes += static_cast<double>(batch.patterns.size() * sizeof(FunctionPattern));
  }
  AddGroups(ranks, job);
  return large;
}

void BM_BuildWindowView(benchmark::State& state) {
  const LargeJob large =
      Make(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), false);
  for (auto _ : state) {
    const CrossRankView view(large.job.batches, large.job.summaries);
    benchmark::DoNotOptimize(view.functions().data());
  }
  state.counters["pattern_MB"] = large.pattern_bytes / 1e6;
}

// The same with what ranks took in earlier windows, which every look compares (lasting_excess.h).
void BM_BuildWindowViewWithPast(benchmark::State& state) {
  const LargeJob large = Make(static_cast<uint32_t>(state.range(0)),
                              static_cast<uint32_t>(state.range(1)), state.range(2) != 0);
  std::vector<RankTimes> past(kRankTimesKept,
                              CrossRankView(large.job.batches, large.job.summaries).rank_times());
  for (size_t i = 0; i < past.size(); ++i)
    past[i].window.index = static_cast<int64_t>(i) - static_cast<int64_t>(past.size());
  for (auto _ : state) {
    const CrossRankView view(large.job.batches, large.job.summaries, {.times = past});
    benchmark::DoNotOptimize(view.lasting_excess().data());
  }
}

void BM_DiagnoseWindow(benchmark::State& state, bool faulty) {
  const LargeJob large =
      Make(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), faulty);
  const std::vector<PatternBatch> history(
      kProfilesKept, CrossRankView(large.job.batches, large.job.summaries).profile());
  const CrossRankView view(large.job.batches, large.job.summaries, {.profiles = history});
  const RootCause root_cause(DefaultOperators());
  size_t findings = 0;
  for (auto _ : state) findings = root_cause.Diagnose(view).size();
  if (findings != (faulty ? 1 : 0))
    state.SkipWithError(fmt::format("{} findings", findings).c_str());
  state.counters["findings"] = static_cast<double>(findings);
}

// What the targets ask for: from the batches to the findings.
void BM_WholeWindow(benchmark::State& state, bool faulty) {
  const LargeJob large =
      Make(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), faulty);
  const std::vector<PatternBatch> history(
      kProfilesKept, CrossRankView(large.job.batches, large.job.summaries).profile());
  const RootCause root_cause(DefaultOperators());
  for (auto _ : state) {
    const CrossRankView view(large.job.batches, large.job.summaries, {.profiles = history});
    benchmark::DoNotOptimize(root_cause.Diagnose(view).data());
  }
}

// The same of a job that has run for a while: with all that is kept of its earlier windows.
void BM_WholeWindowWithPast(benchmark::State& state, bool faulty) {
  const LargeJob large =
      Make(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), faulty);
  const CrossRankView first(large.job.batches, large.job.summaries);
  const auto before = []<typename T>(size_t windows, const T& row) {
    std::vector<T> past(windows, row);
    for (size_t i = 0; i < past.size(); ++i)
      past[i].window.index = static_cast<int64_t>(i) - static_cast<int64_t>(past.size());
    return past;
  };
  const std::vector<PatternBatch> history = before(kProfilesKept, first.profile());
  const std::vector<RankTimes> times = before(kRankTimesKept, first.rank_times());
  const std::vector<RankTimes> work = before(kRankTimesKept, first.work_times());
  const std::vector<RankTimes> bytes = before(kRankTimesKept, first.exchanged());
  const RootCause root_cause(DefaultOperators());
  for (auto _ : state) {
    const CrossRankView view(large.job.batches, large.job.summaries,
                             {.profiles = history, .times = times, .work = work, .bytes = bytes});
    benchmark::DoNotOptimize(root_cause.Diagnose(view).data());
  }
}

// What is taken of a window for those who look at it: after each diagnosis, in the same thread.
void BM_TakeSnapshot(benchmark::State& state) {
  const LargeJob large =
      Make(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), true);
  const CrossRankView view(large.job.batches, large.job.summaries);
  uint64_t bytes = 0;
  for (auto _ : state) bytes = TakeSnapshot(view, SummarizeWindow(view, {}, 0)).detail->bytes;
  state.counters["MB"] = static_cast<double>(bytes) / 1e6;
}

// One operator alone: where the time of the whole goes.
void BM_OneOperator(benchmark::State& state) {
  const LargeJob large = Make(100'000, 20, true);
  const CrossRankView view(large.job.batches, large.job.summaries);
  const std::vector<std::unique_ptr<DiagnosisOperator>> operators = DefaultOperators();
  const DiagnosisOperator& asked = *operators[static_cast<size_t>(state.range(0))];
  for (auto _ : state) {
    std::vector<Finding> claims;
    asked.Evaluate(view, claims);
    benchmark::DoNotOptimize(claims.data());
  }
  state.SetLabel(std::string(asked.name()));
}

void Sizes(benchmark::internal::Benchmark* b) {
  b->Args({1'000, 100})->Args({10'000, 100})->Args({100'000, 20})->Unit(benchmark::kMillisecond);
}

BENCHMARK(BM_BuildWindowView)->Apply(Sizes);
BENCHMARK(BM_BuildWindowViewWithPast)
    ->Args({10'000, 100, 0})
    ->Args({10'000, 100, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_DiagnoseWindow, healthy, false)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_DiagnoseWindow, faulty, true)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_WholeWindow, healthy, false)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_WholeWindow, faulty, true)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_WholeWindowWithPast, healthy, false)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_WholeWindowWithPast, faulty, true)->Apply(Sizes);
BENCHMARK(BM_TakeSnapshot)->Apply(Sizes);
BENCHMARK(BM_OneOperator)
    ->DenseRange(0, static_cast<int64_t>(DefaultOperators().size()) - 1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();

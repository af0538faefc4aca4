// The critical-path sweep alone: ns an interval on one core, and the floor under it (adding up
// durations a function over the same memory).
#include <benchmark/benchmark.h>

#include "stream_ops/pattern/critical_path_sweep.h"
#include "stream_ops/pattern/interval_order.h"
#include "tests/benchmarks/rank_workload.h"

namespace eroica {
namespace {

struct Window {
  std::vector<Interval> intervals;
  std::vector<FunctionTraits> functions;
  std::vector<LaneKind> lanes;
  std::vector<StepSpan> steps;
  SweepInput input;
};

Window MakeWindow(bool host_only) {
  Window window;
  const std::vector<EventBatch> batches = MakeRankWorkload({.host_only = host_only});
  for (const FunctionDef& function : batches[0].functions) {
    const uint32_t depth =
        function.parent == kNoParent ? 0 : window.functions[function.parent].depth + 1;
    window.functions.push_back({.id = FunctionId{window.functions.size() + 1},
                                .function_class = function.function_class,
                                .wait = function.wait,
                                .depth = depth});
  }
  for (const Lane& lane : batches[0].lanes) window.lanes.push_back(lane.kind);
  for (const EventBatch& batch : batches) {
    const IntervalColumns& columns = batch.intervals;
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t start = columns.start_ns[i];
      window.intervals.push_back(
          {start, start + columns.duration_ns[i], columns.function[i], columns.lane[i]});
    }
    for (const Mark& mark : batch.marks) {
      if (mark.kind == MarkKind::kStepBegin)
        window.steps.push_back({mark.id, mark.time_ns, mark.time_ns});
      if (mark.kind == MarkKind::kStepEnd) window.steps.back().end_ns = mark.time_ns;
    }
  }
  IntervalSorter().Sort(window.functions, window.intervals);
  window.input = {.intervals = window.intervals,
                  .functions = window.functions,
                  .lanes = window.lanes,
                  .steps = window.steps,
                  .start_ns = window.steps.front().begin_ns,
                  .end_ns = window.steps.back().end_ns,
                  .host_only = host_only};
  return window;
}

void CountIntervals(benchmark::State& state, size_t intervals) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(intervals));
  state.counters["intervals"] = static_cast<double>(intervals);
}

void BM_Sweep(benchmark::State& state) {
  const Window window = MakeWindow(state.range(0) != 0);
  SweepInput input = window.input;
  if (state.range(1) == 0) input.steps = {};
  CriticalPathSweep sweep;
  for (auto _ : state) {
    sweep.Run(input);
    benchmark::DoNotOptimize(sweep.functions().data());
  }
  CountIntervals(state, window.intervals.size());
}
BENCHMARK(BM_Sweep)
    ->ArgNames({"host_only", "steps"})
    ->ArgsProduct({{0, 1}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

// Sorted already: what the check costs. Shuffled: batches of 8192 in the wrong order.
void BM_Sort(benchmark::State& state) {
  const Window window = MakeWindow(false);
  std::vector<Interval> shuffled = window.intervals;
  if (state.range(0) != 0) {
    const auto batch = std::min<ptrdiff_t>(8192, std::ssize(shuffled) / 4);
    for (auto at = shuffled.begin(); shuffled.end() - at >= 2 * batch; at += 2 * batch)
      std::rotate(at, at + batch, at + 2 * batch);
  }
  std::vector<Interval> intervals;
  IntervalSorter sorter;
  for (auto _ : state) {
    intervals = shuffled;
    sorter.Sort(window.functions, intervals);
    benchmark::DoNotOptimize(intervals.data());
  }
  CountIntervals(state, intervals.size());
}
BENCHMARK(BM_Sort)->ArgName("shuffled")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void BM_FloorTotals(benchmark::State& state) {
  const Window window = MakeWindow(state.range(0) != 0);
  std::vector<FunctionTotals> totals(window.functions.size());
  OctaveHistograms histograms;
  histograms.Resize(window.functions.size());
  for (auto _ : state) {
    for (const Interval& interval : window.intervals) {
      totals[interval.function].Count(interval.duration_ns());
      histograms.Add(interval.function, static_cast<uint64_t>(interval.duration_ns()));
    }
    benchmark::DoNotOptimize(totals.data());
  }
  CountIntervals(state, window.intervals.size());
}
BENCHMARK(BM_FloorTotals)->ArgName("host_only")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();

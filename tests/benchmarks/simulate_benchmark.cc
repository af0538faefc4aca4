// How fast a job is simulated: into a sink that counts, and as capture level 1 has it, summarized
// where it is made. One item is one event of a rank.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdint>

#include "producers/core/batch_sink.h"
#include "stream_ops/summarize/edge_summarizer.h"
#include "tests/evaluation/simulate/job_simulation.h"

namespace eroica::simulate {
namespace {

class CountingSink : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    intervals_ += batch.intervals.size();
    return absl::OkStatus();
  }
  uint64_t intervals() const { return intervals_; }

 private:
  uint64_t intervals_ = 0;
};

// Events become patterns and records of collectives, which are counted and thrown away.
class SummarizingSink : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override { return summarizer_.Add(batch); }
  absl::Status Finish() { return summarizer_.Finish(); }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
  EdgeSummarizer summarizer_{EdgeSummarizer::InOrder(), [this](const EdgeRecord& record) {
                               bytes_ += record.payload.size();
                               return absl::OkStatus();
                             }};
};

// A transformer over hosts of 8, tensor-parallel inside them, four pipeline stages, the rest
// data-parallel.
SimulatedJob JobOf(uint32_t ranks, uint32_t steps) {
  SimulatedJob job;
  job.layout = {.tensor = 8, .data = ranks / 32, .pipeline = 4};
  job.workload.layers = 16;
  job.workload.micro_batches = 8;
  job.telemetry.level = CaptureLevel::kPatterns;
  job.telemetry.sample_period_ns = 0;
  job.steps = steps;
  return job;
}

void CountReport(const SimulationReport& report, uint64_t& events, uint64_t& simulated_ns) {
  events += report.events;
  for (const int64_t step_ns : report.step_ns) simulated_ns += static_cast<uint64_t>(step_ns);
}

// seconds_a_minute: what a minute of training costs.
void SayCounts(benchmark::State& state, const SimulatedJob& job, uint64_t events,
               uint64_t simulated_ns) {
  state.SetItemsProcessed(static_cast<int64_t>(events));
  const double per_rank = static_cast<double>(events) / job.layout.world_size() /
                          (static_cast<double>(simulated_ns) / 1e9);
  state.counters["events_per_rank_and_second"] = per_rank;
  state.counters["ns_per_event"] = benchmark::Counter(
      static_cast<double>(events) / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["seconds_a_minute"] =
      benchmark::Counter(static_cast<double>(simulated_ns) / 60e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void Run(benchmark::State& state, const SimulatedJob& job) {
  uint64_t events = 0;
  uint64_t simulated_ns = 0;
  for (auto _ : state) {
    CountingSink sink;
    const absl::StatusOr<SimulationReport> report = Simulate(job, sink);
    if (!report.ok()) return state.SkipWithError(report.status().ToString().c_str());
    CountReport(*report, events, simulated_ns);
  }
  SayCounts(state, job, events, simulated_ns);
}

// Arguments: ranks, steps.
void BM_Simulate(benchmark::State& state) {
  Run(state, JobOf(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1))));
}
BENCHMARK(BM_Simulate)
    ->Args({64, 64})
    ->Args({1'024, 8})
    ->Args({9'984, 8})
    ->Unit(benchmark::kMillisecond);

void BM_SimulateCollectivesOnly(benchmark::State& state) {
  SimulatedJob job =
      JobOf(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  job.telemetry.level = CaptureLevel::kCollectives;
  Run(state, job);
}
BENCHMARK(BM_SimulateCollectivesOnly)->Args({1'024, 8})->Unit(benchmark::kMillisecond);

void BM_SimulateWithSamples(benchmark::State& state) {
  SimulatedJob job =
      JobOf(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  job.telemetry.sample_period_ns = 1'000'000;
  Run(state, job);
}
BENCHMARK(BM_SimulateWithSamples)->Args({1'024, 8})->Unit(benchmark::kMillisecond);

// Capture level 1 as a whole: the job, and each rank's events summarized window by window. The
// third argument is the forward pass of one layer in microseconds: how many events a second of
// training has goes with it. 4,400: a model of 70 billion parameters, whose layer has 0.86, with
// 8,192 tokens on 8 ranks at 400 TFLOP/s. The reference of docs/PERFORMANCE.md. 2,000: a model of
// half that size, which has twice as many.
void BM_SimulatePatterns(benchmark::State& state) {
  SimulatedJob job =
      JobOf(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  job.workload.layer_forward_ns = state.range(2) * 1'000;
  uint64_t events = 0;
  uint64_t simulated_ns = 0;
  uint64_t bytes = 0;
  for (auto _ : state) {
    SummarizingSink sink;
    const absl::StatusOr<SimulationReport> report = Simulate(job, sink);
    if (!report.ok() || !sink.Finish().ok()) return state.SkipWithError("did not run");
    CountReport(*report, events, simulated_ns);
    bytes += sink.bytes();
  }
  SayCounts(state, job, events, simulated_ns);
  state.counters["bytes_an_event"] = static_cast<double>(bytes) / static_cast<double>(events);
}
BENCHMARK(BM_SimulatePatterns)
    ->ArgNames({"ranks", "steps", "layer_us"})
    ->Args({64, 64, 4'400})
    ->Args({9'984, 80, 4'400})  // the whole minute
    ->Args({9'984, 16, 2'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eroica::simulate

BENCHMARK_MAIN();

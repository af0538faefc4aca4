// The stage summarize as it runs in a node: decode, windows, critical-path sweep, patterns,
// encoding, and the RocksDB write of what was closed. One core, no transport. Reach: 20 M events/s
// (DESIGN 12). Beside it what decoding alone costs.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "schemas/codec.h"
#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/summarize/edge_summarizer.h"
#include "stream_ops/summarize/summarize_processor.h"
#include "tests/benchmarks/rank_workload.h"

namespace eroica {
namespace {

struct Input {
  std::vector<ConsumerRecord> records;  // of all ranks, as they take turns
  int64_t events = 0;
};

Input MakeInput(const std::string& job, uint32_t ranks, uint32_t window_steps, bool samples) {
  Input input;
  std::vector<std::vector<EventBatch>> batches;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    batches.push_back(MakeRankWorkload({.job = job,
                                        .rank = rank,
                                        .steps = 100,
                                        .window_steps = window_steps,
                                        .samples = samples}));
  }
  TestEncoder encoder;
  for (size_t turn = 0;; ++turn) {
    bool any = false;
    for (const auto& of_rank : batches) {
      if (turn >= of_rank.size()) continue;
      any = true;
      const Bytes bytes = encoder.Encode(of_rank[turn]);
      ConsumerRecord& record = input.records.emplace_back();
      record.offset = static_cast<int64_t>(input.records.size() - 1);
      record.value.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      input.events += static_cast<int64_t>(of_rank[turn].intervals.size());
    }
    if (!any) return input;
  }
}

// Takes what the processor says.
class BenchmarkContext final : public ProcessorContext {
 public:
  explicit BenchmarkContext(StateStore* store) : store_(store) {}

  void Forward(Topic, std::string, PayloadType, Bytes payload, int64_t, const JobId&) override {
    forwarded_bytes_ += payload.size();
  }
  void DeadLetter(DropReason) override { ++dead_letters_; }
  void DropOutput(DropReason) override { ++dead_letters_; }
  const StateStore& store() const override { return *store_; }
  StateChanges& changes() override { return changes_; }

  size_t forwarded_bytes() const { return forwarded_bytes_; }
  size_t dead_letters() const { return dead_letters_; }

 private:
  StateStore* store_;
  StateChanges changes_;
  size_t forwarded_bytes_ = 0;
  size_t dead_letters_ = 0;
};

// All records, with a write every 64 of them; then the end of the input.
bool ProcessAll(const Input& input, SummarizeProcessor& processor, BenchmarkContext& context,
                StateStore* store) {
  bool ok = true;
  for (const ConsumerRecord& record : input.records) {
    ok = ok && processor.Process(record).ok();
    if (record.offset % 64 != 63) continue;
    ok = ok && store->Write(context.changes()).ok();
    context.changes().clear();
  }
  ok = ok && processor.Punctuate(PunctuationType::kEndOfInput).ok() &&
       store->Write(context.changes()).ok();
  context.changes().clear();
  return ok && context.dead_letters() == 0 && processor.events_held() == 0;
}

void Run(benchmark::State& state, StateStore* store, bool samples) {
  const auto ranks = static_cast<uint32_t>(state.range(0));
  const auto window_steps = static_cast<uint32_t>(state.range(1));
  const Input before = MakeInput("before", ranks, window_steps, samples);
  const Input input = MakeInput("benchmark", ranks, window_steps, samples);
  size_t forwarded = 0;
  uint64_t windows = 0;
  for (auto _ : state) {
    state.PauseTiming();
    InMemoryStore nothing;
    SummarizeProcessor processor({});
    BenchmarkContext context(&nothing);
    // A node that runs has touched its memory: another job has gone before.
    if (!processor.Init(context).ok() || !ProcessAll(before, processor, context, &nothing))
      state.SkipWithError("before");
    forwarded = context.forwarded_bytes();
    windows = processor.probe().windows_closed;
    state.ResumeTiming();
    if (!ProcessAll(input, processor, context, store)) state.SkipWithError("not all was used");
    forwarded = context.forwarded_bytes() - forwarded;
    windows = processor.probe().windows_closed - windows;
  }
  state.SetItemsProcessed(state.iterations() * input.events);
  state.counters["events"] = static_cast<double>(input.events);
  state.counters["events_a_window"] =
      static_cast<double>(input.events) / static_cast<double>(windows);
  state.counters["bytes_sent_a_window"] =
      static_cast<double>(forwarded) / static_cast<double>(windows);
}

void BM_Summarize(benchmark::State& state) {
  const auto folder = std::filesystem::temp_directory_path() / "eroica_summarize_benchmark";
  std::filesystem::remove_all(folder);
  auto store = RocksDbStore::Open({.folder = folder.string()});
  if (store.ok()) {
    Run(state, store->get(), false);
  } else {
    state.SkipWithError("no store");
  }
  store = absl::CancelledError();
  std::filesystem::remove_all(folder);
}
BENCHMARK(BM_Summarize)
    ->ArgNames({"ranks", "window_steps"})
    ->Args({8, 50})
    ->Args({8, 10})
    ->Unit(benchmark::kMillisecond);

void BM_SummarizeWithSamples(benchmark::State& state) {
  InMemoryStore store;
  Run(state, &store, true);
}
BENCHMARK(BM_SummarizeWithSamples)
    ->ArgNames({"ranks", "window_steps"})
    ->Args({8, 50})
    ->Unit(benchmark::kMillisecond);

// The same in a producer: batches at hand, in order, neither decoded nor stored.
void BM_SummarizeAtTheEdge(benchmark::State& state) {
  const auto ranks = static_cast<uint32_t>(state.range(0));
  std::vector<std::vector<EventBatch>> batches;
  int64_t events = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const auto window_steps = static_cast<uint32_t>(state.range(1));
    batches.push_back(MakeRankWorkload({.rank = rank,
                                        .steps = 100,
                                        .window_steps = window_steps,
                                        .samples = state.range(2) != 0}));
    for (const EventBatch& batch : batches.back())
      events += static_cast<int64_t>(batch.intervals.size());
  }
  for (auto _ : state) {
    size_t bytes = 0;
    EdgeSummarizer summarizer(EdgeSummarizer::InOrder(), [&](const EdgeRecord& record) {
      bytes += record.payload.size();
      return absl::OkStatus();
    });
    bool more = true;
    for (size_t turn = 0; more; ++turn) {
      more = false;
      for (const auto& of_rank : batches) {
        if (turn >= of_rank.size()) continue;
        more = true;
        if (!summarizer.Add(of_rank[turn]).ok()) state.SkipWithError("refused");
      }
    }
    if (!summarizer.Finish().ok() || summarizer.events_held() != 0 || bytes == 0)
      state.SkipWithError("not all was used");
  }
  state.SetItemsProcessed(state.iterations() * events);
}
BENCHMARK(BM_SummarizeAtTheEdge)
    ->ArgNames({"ranks", "window_steps", "samples"})
    ->Args({8, 10, 0})
    ->Args({8, 10, 1})
    ->Args({8, 2, 0})
    ->Unit(benchmark::kMillisecond);

void BM_FloorDecode(benchmark::State& state) {
  const Input input = MakeInput("job", 8, 50, false);
  Decoder decoder;
  EventBatch batch;
  for (auto _ : state) {
    for (const ConsumerRecord& record : input.records) {
      if (decoder.Decode(record.payload(), &batch) != DropReason::kNone)
        state.SkipWithError("decode");
    }
  }
  state.SetItemsProcessed(state.iterations() * input.events);
}
BENCHMARK(BM_FloorDecode)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();

// How long it takes to align one window of one communicator, ranks x operations: the alignment
// alone, and the whole stage from payload to summary.
#include <benchmark/benchmark.h>

#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/align/align_processor.h"
#include "stream_ops/summarize/member_list.h"

namespace eroica {
namespace {

// A data-parallel communicator with jitter: one rank in a thousand is late, and every rank names
// what it ran before.
std::vector<CollectiveBatch> MakeWindow(uint32_t ranks, uint32_t operations) {
  std::mt19937 random(1);
  std::vector<CollectiveBatch> batches(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    CollectiveBatch& batch = batches[rank];
    batch.job = JobId("benchmark");
    batch.rank = RankId(rank);
    batch.world_size = ranks;
    batch.communicator = {
        .id = CommId(1), .name = "dp", .description = "", .size = ranks, .ranks = {}};
    batch.window = {.kind = WindowKind::kTime, .index = 1, .start_ns = 0, .end_ns = 10'000'000'000};
    batch.predecessors = {{FunctionId(1), "gemm", ""}, {FunctionId(2), "layer_norm", ""}};
    for (uint32_t i = 0; i < operations; ++i) {
      CollectiveRecord& row = batch.records.emplace_back();
      row.operation =
          i % 2 == 0 ? CollectiveOperation::kAllReduce : CollectiveOperation::kAllGather;
      row.sequence = i / 2;
      row.step = i / 10;
      row.duration_ns = (rank % 1'000 == 17 ? 1'000'000 : 20'000'000) +
                        static_cast<int64_t>(random() % 4'000'000);
      row.exposed_ns = row.duration_ns / 2;
      row.bytes = 1 << 20;
      row.before = 1 + i % 2;
      row.before_ns = 1'000'000;
    }
  }
  return batches;
}

void BM_AlignWindow(benchmark::State& state) {
  const auto ranks = static_cast<uint32_t>(state.range(0));
  const auto operations = static_cast<uint32_t>(state.range(1));
  const std::vector<CollectiveBatch> batches = MakeWindow(ranks, operations);
  CollectiveAligner aligner;
  for (auto _ : state) {
    Alignment result = aligner.Align({.window = batches[0].window,
                                      .batches = batches,
                                      .carried = {},
                                      .missing = {},
                                      .settle = true});
    if (result.summary.operations != operations)
      state.SkipWithError("not all operations were aligned");
    benchmark::DoNotOptimize(result);
  }
  state.SetItemsProcessed(state.iterations() * ranks * operations);
}
BENCHMARK(BM_AlignWindow)
    ->Args({8, 1'000})
    ->Args({1'000, 100})
    ->Args({10'000, 100})
    ->Unit(benchmark::kMillisecond);

// Takes what the stage sends and keeps only its size.
class Sink : public ProcessorContext {
 public:
  void Forward(Topic, std::string, PayloadType, Bytes payload, int64_t, const JobId&) override {
    bytes_ += payload.size();
  }
  void DeadLetter(DropReason) override {}
  void DropOutput(DropReason) override {}
  const StateStore& store() const override { return store_; }
  StateChanges& changes() override { return changes_; }
  size_t TakeBytes() {
    changes_.clear();
    return std::exchange(bytes_, 0);
  }

 private:
  InMemoryStore store_;
  StateChanges changes_;
  size_t bytes_ = 0;
};

// Members are listed as summarize has it.
void BM_AlignStage(benchmark::State& state) {
  const auto ranks = static_cast<uint32_t>(state.range(0));
  const auto operations = static_cast<uint32_t>(state.range(1));
  std::vector<CollectiveBatch> batches = MakeWindow(ranks, operations);
  Communicator communicator = batches[0].communicator;
  communicator.ranks.resize(ranks);
  std::iota(communicator.ranks.begin(), communicator.ranks.end(), 0);
  Sink sink;
  AlignProcessor processor;
  if (!processor.Init(sink).ok()) return;
  TestEncoder encoder;
  std::vector<ConsumerRecord> records(ranks);
  size_t input_bytes = 0;
  int64_t window = 0;
  for (auto _ : state) {
    state.PauseTiming();
    input_bytes = 0;
    ++window;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      batches[rank].window.index = window;
      batches[rank].communicator = AsSaidBy(communicator, RankId(rank), window);
      const Bytes payload = encoder.Encode(batches[rank]);
      records[rank].value.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
      input_bytes += payload.size();
    }
    state.ResumeTiming();
    for (const ConsumerRecord& record : records) {
      if (!processor.Process(record).ok()) state.SkipWithError("a record was refused");
    }
    state.counters["summary_bytes"] = static_cast<double>(sink.TakeBytes());
  }
  if (processor.probe().summaries_sent != static_cast<uint64_t>(window))
    state.SkipWithError("a window did not close");
  state.counters["input_bytes"] = static_cast<double>(input_bytes);
  state.SetItemsProcessed(state.iterations() * ranks * operations);
}
BENCHMARK(BM_AlignStage)
    ->Args({8, 1'000})
    ->Args({1'000, 100})
    ->Args({10'000, 100})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();

// Import on one core: MB/s of uncompressed JSON up to finished batches, the gzip decoder alone, and
// the wire size of what comes out.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <lz4.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "producers/import/byte_source.h"
#include "producers/import/trace_import.h"
#include "schemas/codec.h"
#include "schemas/test_encoder.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

const fs::path kTraces = "../shared/traces";

class CountingSink final : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    intervals += batch.intervals.size();
    return absl::OkStatus();
  }
  uint64_t intervals = 0;
};

// What a message of librdkafka with lz4 would carry: every batch encoded and compressed alone.
class WireSink final : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    const Bytes payload = encoder_.Encode(batch);
    compressed_.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(payload.size()))));
    const int size = LZ4_compress_default(reinterpret_cast<const char*>(payload.data()),
                                          compressed_.data(), static_cast<int>(payload.size()),
                                          static_cast<int>(compressed_.size()));
    events += batch.intervals.size() + batch.marks.size();
    raw_bytes += payload.size();
    wire_bytes += static_cast<uint64_t>(size);
    return absl::OkStatus();
  }
  uint64_t events = 0;
  uint64_t raw_bytes = 0;
  uint64_t wire_bytes = 0;

 private:
  TestEncoder encoder_;
  std::vector<char> compressed_;
};

// A folder of its own with one file, gone at the end.
class TraceFile {
 public:
  explicit TraceFile(const std::string& name)
      : folder_(fs::temp_directory_path() / fmt::format("eroica_import_benchmark_{}", name)) {
    fs::create_directories(folder_);
    path_ = folder_ / "rank0.json";
  }
  ~TraceFile() { fs::remove_all(folder_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path folder_;
  fs::path path_;
};

// The content of a real trace, decompressed.
void Decompress(const fs::path& from, const fs::path& to) {
  std::unique_ptr<ByteSource> source = *ByteSource::Open(from);
  std::FILE* file = std::fopen(to.c_str(), "wb");
  std::vector<char> buffer(size_t{1} << 20);
  while (const size_t read = source->Read(buffer.data(), buffer.size()))
    std::fwrite(buffer.data(), 1, read, file);
  std::fclose(file);
}

// Steps of a training loop on a GPU as PyTorch 2 writes them: frames, operators, launches, kernels;
// some 280 bytes an event.
void WriteSyntheticTrace(const fs::path& path, int steps) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  fmt::print(
      file,
      R"({{"schemaVersion": 1, "distributedInfo": {{"backend": "nccl", "rank": 0, "world_size": 1}}, "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [)");
  const char* separator = "\n";
  int64_t id = 0;
  const auto event = [&](const char* category, const std::string& name, int pid, int tid, double ts,
                         double dur, const std::string& args) {
    fmt::print(file, R"({}  {{
    "ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {},
    "ts": {:.3f}, "dur": {:.3f},
    "args": {{ {} }}
  }})",
               separator, category, name, pid, tid, ts, dur, args);
    separator = ",\n";
  };
  for (int step = 0; step < steps; ++step) {
    const double start = 4'401'701'000'000.0 + step * 200'000.0;
    event("user_annotation", fmt::format("ProfilerStep#{}", step), 100, 100, start, 199'000,
          R"("External id": 1, "Ev Idx": 1)");
    for (int layer = 0; layer < 500; ++layer) {
      const double at = start + layer * 390.123;
      ++id;
      event(
          "python_function", fmt::format("model/layers.py({}): forward", 10 + layer % 40), 100, 100,
          at, 380.5,
          fmt::format(
              R"("CallFrom": "model/block.py:77", "Python id": {}, "Python parent id": {}, "Ev Idx": {})",
              2 * id, 2 * id - 3, id));
      event(
          "cpu_op", fmt::format("aten::op_{}", layer % 60), 100, 100, at + 2.5, 300.25,
          fmt::format(
              R"("External id": {}, "Record function id": 0, "Concrete Inputs": ["", "", "True"], "Input type": ["float", "float", "Scalar"], )"
              R"("Input Strides": [[4096, 1], [1, 4096], []], "Input Dims": [[8, 4096], [4096, 4096], []], "Ev Idx": {})",
              id, id));
      event("cuda_runtime", "cudaLaunchKernel", 100, 100, at + 20.75, 8.5,
            fmt::format(R"("External id": {}, "cbid": 211, "correlation": {})", id, id));
      event(
          "kernel", fmt::format("void gemm_kernel_{}<float, 128, 16, 2>(Params)", layer % 30), 0, 7,
          at + 40.125, 310.0,
          fmt::format(
              R"("External id": {}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {}, "registers per thread": 72, )"
              R"("shared memory": 13824, "blocks per SM": 0.8, "warps per SM": 3.2, "grid": [32, 2, 1], "block": [128, 1, 1])",
              id, id));
    }
  }
  fmt::print(file, "\n  ], \"traceName\": \"trace.json\"}}\n");
  std::fclose(file);
}

void ImportFile(benchmark::State& state, const fs::path& path) {
  uint64_t content_bytes = 0;
  uint64_t events = 0;
  for (auto _ : state) {
    CountingSink sink;
    const absl::StatusOr<ImportReport> report = ImportTraces({&path, 1}, {}, sink, nullptr);
    if (!report.ok()) return state.SkipWithError(std::string(report.status().message()).c_str());
    content_bytes += report->total.content_bytes;
    events += report->total.events;
  }
  state.SetBytesProcessed(static_cast<int64_t>(content_bytes));
  state.SetItemsProcessed(static_cast<int64_t>(events));
}

void BM_ImportSyntheticJson(benchmark::State& state) {
  const TraceFile file("synthetic");
  WriteSyntheticTrace(file.path(), static_cast<int>(state.range(0)));
  state.counters["file_MB"] = static_cast<double>(fs::file_size(file.path())) / 1e6;
  ImportFile(state, file.path());
}
BENCHMARK(BM_ImportSyntheticJson)->Arg(50)->Arg(500)->Unit(benchmark::kMillisecond);

void BM_ImportRealJson(benchmark::State& state, const char* trace) {
  if (!fs::exists(kTraces / trace))
    return state.SkipWithError("the folder of real traces is absent");
  const TraceFile file("real");
  Decompress(kTraces / trace, file.path());
  ImportFile(state, file.path());
}
BENCHMARK_CAPTURE(BM_ImportRealJson, torch_gloo, "torch-gloo/slow_compute_4r/rank1.json.gz")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_ImportRealJson, kineto_a100, "hta-kineto/trace_diff_control_control.json.gz")
    ->Unit(benchmark::kMillisecond);

void BM_Gunzip(benchmark::State& state) {
  const fs::path path = kTraces / "hta-kineto/trace_diff_control_control.json.gz";
  if (!fs::exists(path)) return state.SkipWithError("the folder of real traces is absent");
  std::vector<char> buffer(size_t{1} << 20);
  int64_t bytes = 0;
  for (auto _ : state) {
    std::unique_ptr<ByteSource> source = *ByteSource::Open(path);
    while (const size_t read = source->Read(buffer.data(), buffer.size()))
      bytes += static_cast<int64_t>(read);
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(BM_Gunzip)->Unit(benchmark::kMillisecond);

// wire_B: lz4, as DESIGN 12 asks for; raw_B: before compression.
void BM_WireSize(benchmark::State& state, const char* folder) {
  const fs::path path = kTraces / folder;
  if (!fs::exists(path)) return state.SkipWithError("the folder of real traces is absent");
  WireSink sink;
  for (auto _ : state) {
    sink = {};
    if (!ImportTraces({&path, 1}, {}, sink, nullptr).ok())
      return state.SkipWithError("not imported");
  }
  state.counters["wire_B_event"] =
      static_cast<double>(sink.wire_bytes) / static_cast<double>(sink.events);
  state.counters["raw_B_event"] =
      static_cast<double>(sink.raw_bytes) / static_cast<double>(sink.events);
}
BENCHMARK_CAPTURE(BM_WireSize, dlrm, "dlrm-kineto-8rank")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WireSize, torch_gloo, "torch-gloo/slow_compute_4r")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WireSize, pipeline, "torch-parallel/pp4dp2_healthy_8r")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WireSize, kineto_a100, "hta-kineto/trace_diff_control_control.json.gz")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eroica

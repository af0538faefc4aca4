// What an EventBatch costs: nanoseconds an interval to encode and decode, bytes an interval raw and
// under lz4. The batch looks like training: layers of kernels that repeat with log-normal jitter on
// one device stream, host operators and Python frames beside them, a collective a layer.
#include <benchmark/benchmark.h>
#include <lz4.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "schemas/check.h"
#include "schemas/codec.h"
#include "schemas/test_encoder.h"
#include "schemas/varint_column.h"

namespace eroica {
namespace {

constexpr uint32_t kKernelNames = 120;
constexpr uint32_t kFunctionNames = 400;
constexpr int64_t kBaseNs = 1'700'000'000'000'000'000;

struct Row {
  int64_t start_ns, duration_ns;
  uint32_t function;
  uint8_t lane;
};

FunctionDef MakeFunction(uint32_t index) {
  if (index == 0)
    return {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            FunctionClass::kCollective, WaitKind::kPeer};
  const std::string number = std::to_string(index);
  if (index < kKernelNames) {
    return {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x" + number +
                "_64x3_tn_align8>",
            FunctionClass::kGpuCompute};
  }
  if (index < kKernelNames + 80) return {"aten::operator_" + number, FunctionClass::kCpuOp};
  return {"torch/nn/modules/module_" + number + ".py(1518): _call_impl", FunctionClass::kPython,
          WaitKind::kNone, index == kKernelNames + 80 ? kNoParent : index - 1 - index % 3};
}

// `unit_ns` is what the clock of the producer resolves: 1 for CUPTI, 1,000 for traces in whole
// microseconds.
EventBatch MakeTrainingBatch(size_t count, uint32_t unit_ns) {
  std::mt19937_64 random(42);
  std::lognormal_distribution<double> jitter(0, 0.03);
  const auto quantize = [unit_ns](double ns) {
    return static_cast<int64_t>(ns) / unit_ns * unit_ns;
  };
  EventBatch batch;
  batch.identity.job = JobId("llm-70b");
  batch.identity.world_size = 1'024;
  batch.time_unit_ns = unit_ns;
  for (uint32_t i = 0; i < kFunctionNames; ++i) batch.functions.push_back(MakeFunction(i));
  batch.lanes = {{"MainThread", LaneKind::kTrainingThread},
                 {"stream 7", LaneKind::kDeviceStream},
                 {"stream 20", LaneKind::kDeviceStream}};
  batch.communicators = {{CommId(1), "dp", "data parallel", 128, {}}};

  std::vector<Row> rows;
  int64_t device_ns = kBaseNs, host_ns = kBaseNs;
  for (uint32_t k = 0; rows.size() < count; ++k) {
    const uint32_t kernel = 1 + k % 42 * 7 % (kKernelNames - 1);
    const int64_t duration = quantize((3'000 + 1'500 * (kernel % 37)) * jitter(random));
    rows.push_back({device_ns, duration, kernel, 1});
    if (k % 14 == 13) rows.push_back({device_ns, quantize(400'000 * jitter(random)), 0, 2});
    device_ns += duration + quantize(1'000 * jitter(random));
    const int64_t host = quantize(8'000 * jitter(random));
    rows.push_back({host_ns, host, kKernelNames + k % 80, 0});
    rows.push_back({host_ns + host / 4 / unit_ns * unit_ns, host / 2 / unit_ns * unit_ns,
                    kKernelNames + 80 + k % 200, 0});
    host_ns = std::max(host_ns + host, device_ns - 2'000'000 / unit_ns * unit_ns);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.start_ns < b.start_ns; });
  rows.resize(count);
  uint64_t sequence = 0;
  for (const Row& row : rows) {
    if (row.function == 0) {
      batch.collectives.push_back({static_cast<uint32_t>(batch.intervals.size()), 0,
                                   CollectiveOperation::kAllReduce, -1, sequence++, 1 << 26});
    }
    batch.intervals.push_back(row.start_ns, row.duration_ns, row.function, row.lane);
  }
  return batch;
}

void SetPerInterval(benchmark::State& state, size_t intervals, Bytes bytes) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(intervals));
  state.counters["ns/interval"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(intervals) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  std::vector<char> packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes.size()))));
  const int packed_size =
      LZ4_compress_default(reinterpret_cast<const char*>(bytes.data()), packed.data(),
                           static_cast<int>(bytes.size()), static_cast<int>(packed.size()));
  state.counters["B/interval"] = static_cast<double>(bytes.size()) / static_cast<double>(intervals);
  state.counters["lz4 B/interval"] =
      static_cast<double>(packed_size) / static_cast<double>(intervals);
}

void BM_Encode(benchmark::State& state) {
  const EventBatch batch =
      MakeTrainingBatch(static_cast<size_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  TestEncoder encoder;
  for (auto _ : state) benchmark::DoNotOptimize(encoder.Encode(batch).data());
  SetPerInterval(state, batch.intervals.size(), encoder.Encode(batch));
}

void BM_Decode(benchmark::State& state) {
  const EventBatch batch =
      MakeTrainingBatch(static_cast<size_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  TestEncoder encoder;
  const Bytes bytes = encoder.Encode(batch);
  Decoder decoder;
  EventBatch decoded;
  for (auto _ : state) {
    EROICA_CHECK(decoder.Decode(bytes, &decoded) == DropReason::kNone);
    benchmark::ClobberMemory();
  }
  SetPerInterval(state, batch.intervals.size(), bytes);
}

// One column of values of about `bits` bits.
std::vector<uint64_t> MakeValues(double bits) {
  std::mt19937_64 random(42);
  std::lognormal_distribution<double> values(bits * std::log(2.0), 1);
  std::vector<uint64_t> column(8'192);
  for (uint64_t& value : column) value = static_cast<uint64_t>(values(random));
  return column;
}

void BM_VarintRead(benchmark::State& state) {
  std::vector<uint64_t> values = MakeValues(static_cast<double>(state.range(0)));
  VarintColumnWriter writer;
  const std::span<const uint8_t> column =
      writer.Write(values.size(), [&](size_t i) { return values[i]; });
  for (auto _ : state) {
    EROICA_CHECK(ReadVarints(column, std::span(values)) == DropReason::kNone);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(values.size()));
}

void BM_VarintWrite(benchmark::State& state) {
  const std::vector<uint64_t> values = MakeValues(static_cast<double>(state.range(0)));
  VarintColumnWriter writer;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        writer.Write(values.size(), [&](size_t i) { return values[i]; }).data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(values.size()));
}

BENCHMARK(BM_Encode)
    ->ArgNames({"intervals", "unit_ns"})
    ->Args({8'192, 1})
    ->Args({8'192, 1'000})
    ->Args({512, 1});
BENCHMARK(BM_Decode)
    ->ArgNames({"intervals", "unit_ns"})
    ->Args({8'192, 1})
    ->Args({8'192, 1'000})
    ->Args({512, 1});
BENCHMARK(BM_VarintRead)->ArgName("bits")->Arg(4)->Arg(8)->Arg(14)->Arg(20);
BENCHMARK(BM_VarintWrite)->ArgName("bits")->Arg(4)->Arg(8)->Arg(14)->Arg(20);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();

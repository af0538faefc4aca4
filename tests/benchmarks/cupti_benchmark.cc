// What a kernel record costs from the completed buffer to eroica_interval, on the capture's own
// thread: the walk over the buffer, the look-up of name and stream, the call into the core (here
// one that takes nothing). And what CUPTI's threads pay for a buffer.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "producers/core/producer_core.h"
#include "producers/cupti/activity_collector.h"
#include "producers/cupti/buffer_pool.h"
#include "producers/cupti/testing/fake_cupti_api.h"

namespace {
uint64_t intervals_taken = 0;
uint32_t functions_made = 0;
}  // namespace

// The C ABI, as small as it can be.
extern "C" {
uint32_t eroica_function(const char*, int, int, uint32_t) { return functions_made++; }
uint8_t eroica_lane(const char*, int) { return 0; }
int64_t eroica_from_realtime_ns(int64_t realtime_ns) { return realtime_ns; }
void eroica_interval(int64_t start_ns, int64_t, uint32_t, uint8_t) {
  intervals_taken += start_ns != 0;
}
void eroica_lost(int, uint8_t, uint64_t) {}
}

namespace eroica {
namespace {

constexpr int64_t kT = 1'700'000'000'000'000'000;
std::vector<uint8_t> memory;
size_t valid = 0;

// A buffer of kernels in turn, with names as long as PyTorch's.
void FillBuffer(FakeCuptiApi& api, const std::vector<std::string>& symbols, int records) {
  memory.assign(size_t{1} << 20, 0);
  api.RegisterCallbacks(
      [](uint8_t** buffer, size_t* bytes, size_t*) {
        *buffer = memory.data();
        *bytes = memory.size();
      },
      [](uint8_t*, size_t, size_t valid_bytes) { valid = valid_bytes; });
  api.Enable(ActivityKind::kConcurrentKernel);
  for (int i = 0; i < records; ++i) {
    const size_t name = static_cast<size_t>(i) * 7 % symbols.size();
    api.Kernel(symbols[name].c_str(), kT + i * 1'000, kT + i * 1'000 + 700, i % 16 == 0 ? 20u : 7u);
  }
  api.FlushAll(true);
}

// Seconds of processor time for each of many in one iteration.
void PerOne(benchmark::State& state, const char* name, int count) {
  state.counters[name] =
      benchmark::Counter(static_cast<double>(state.iterations()) * count,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void KernelRecords(benchmark::State& state) {
  const auto kernels = static_cast<size_t>(state.range(0));
  std::vector<std::string> symbols;
  for (size_t i = 0; i < kernels; ++i) {
    symbols.push_back("_ZN2at6native" + std::string("29vectorized_elementwise_kernel") +
                      std::string(160, 'x') + std::to_string(i));
  }
  FakeCuptiApi api;
  constexpr int kRecords = 4'096;
  FillBuffer(api, symbols, kRecords);
  ActivityCollector collector(api, [] { return false; });
  for (auto unused : state) collector.Collect(memory.data(), valid);
  benchmark::DoNotOptimize(intervals_taken);
  PerOne(state, "per_record", kRecords);
}
BENCHMARK(KernelRecords)->Arg(50)->Arg(500)->Arg(5'000);

// The walk alone: what of the above is the fake library's.
void WalkOnly(benchmark::State& state) {
  FakeCuptiApi api;
  constexpr int kRecords = 4'096;
  FillBuffer(api, {"kernel"}, kRecords);
  for (auto unused : state) {
    uint8_t* record = nullptr;
    while (api.NextRecord(memory.data(), valid, &record) == kCuptiSuccess) {
      benchmark::DoNotOptimize(record);
    }
  }
  PerOne(state, "per_record", kRecords);
}
BENCHMARK(WalkOnly);

// On CUPTI's threads, and now and then on the application's.
void RequestAndComplete(benchmark::State& state) {
  const auto pool = BufferPool::Create({});
  const auto buffers = static_cast<int>(pool->options().buffers);
  for (auto unused : state) {
    for (int i = 0; i < buffers; ++i) {
      uint8_t* buffer = nullptr;
      size_t bytes = 0;
      pool->Request(&buffer, &bytes);
      pool->Complete(buffer, 0);
    }
    state.PauseTiming();
    BufferPool::Buffer completed;
    while (pool->Take(&completed)) pool->Recycle(completed);
    state.ResumeTiming();
  }
  PerOne(state, "per_buffer", buffers);
}
BENCHMARK(RequestAndComplete)->Iterations(500);

// On the capture's thread, of a whole buffer.
void TakeAndRecycle(benchmark::State& state) {
  const auto pool = BufferPool::Create({});
  for (auto unused : state) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0;
    pool->Request(&buffer, &bytes);
    pool->Complete(buffer, bytes);
    BufferPool::Buffer completed;
    pool->Take(&completed);
    pool->Recycle(completed);
  }
}
BENCHMARK(TakeAndRecycle);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();

// What NCCL's threads pay for the profiler plugin: nanoseconds a collective, by how many kernel
// channels it has, and for the parts of it. Behind the plugin stands a core that does nothing
// (producers/nccl/testing/empty_core.h), so that the plugin's own cost is what is measured.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <vector>

#include "producers/nccl/abi_adapters.h"
#include "producers/nccl/testing/nccl_harness.h"

namespace eroica::nccl {
namespace {

ProfilerV6 table = MakeProfilerV6();

// The process' recorder with a communicator in it.
struct Plugin {
  explicit Plugin(const NcclOptions& options)
      : recorder(options), harness(MakeNcclHarness(6, &table)) {
    SetProcessRecorder(&recorder);
    harness->Init(&communicator);
  }
  ~Plugin() {
    harness->Finalize(communicator.context);
    SetProcessRecorder(nullptr);
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  CollectiveRecorder recorder;
  std::unique_ptr<NcclHarness> harness;
  HarnessCommunicator communicator = {.id = 1, .name = "dp", .nodes = 2, .ranks = 8, .rank = 0};
};

// A collective from its launch to its end, with so many kernel channels.
void BM_Collective(benchmark::State& state) {
  Plugin plugin({});
  const auto channels = static_cast<uint8_t>(state.range(0));
  std::array<void*, 64> running{};
  uint64_t sequence = 0;
  for (auto _ : state) {
    void* operation =
        plugin.harness->Start(plugin.communicator, {.sequence = sequence++, .channels = channels});
    plugin.harness->Stop(operation);
    for (uint8_t i = 0; i < channels; ++i) {
      running[i] = plugin.harness->StartKernelChannel(plugin.communicator, operation, i,
                                                      1'000'000 + sequence * 1'000);
    }
    for (uint8_t i = 0; i < channels; ++i) {
      plugin.harness->StopKernelChannel(running[i], 1'000'500 + sequence * 1'000);
    }
  }
  state.counters["a_channel"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * channels,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Collective)->Arg(1)->Arg(2)->Arg(8)->Arg(16)->Arg(32);

// What the launching thread alone pays: NCCL's start and stop of a collective. Ended by its proxy
// thread between batches, outside the measured time.
void BM_Launch(benchmark::State& state) {
  Plugin plugin({});
  constexpr size_t kBatch = 256;
  std::vector<void*> operations(kBatch);
  while (state.KeepRunningBatch(kBatch)) {
    for (void*& operation : operations) {
      operation = plugin.harness->Start(plugin.communicator, {.channels = 1});
      plugin.harness->Stop(operation);
    }
    state.PauseTiming();
    for (void* operation : operations) {
      plugin.harness->StopKernelChannel(
          plugin.harness->StartKernelChannel(plugin.communicator, operation, 0, 1'000), 2'000);
    }
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Launch);

// Without kernel channels: everything is over when it is enqueued.
void BM_LaunchWithoutKernelChannels(benchmark::State& state) {
  Plugin plugin({.kernel_channels = false});
  for (auto _ : state) {
    plugin.harness->Stop(plugin.harness->Start(plugin.communicator, {}));
  }
}
BENCHMARK(BM_LaunchWithoutKernelChannels);

// A group while capture is off: all that is left to pay.
void BM_Group(benchmark::State& state) {
  Plugin plugin({});
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        plugin.harness->StartOfType(plugin.communicator, kGroupEvent, nullptr));
  }
}
BENCHMARK(BM_Group);

// A proxy operation with so many steps in turn.
void BM_ProxyOperation(benchmark::State& state) {
  Plugin plugin({.proxy_sampling = 1});
  for (auto _ : state) {
    void* operation = plugin.harness->StartProxyOp(plugin.communicator, nullptr, {});
    for (int64_t i = 0; i < state.range(0); ++i) {
      void* step = plugin.harness->StartOfType(plugin.communicator, kProxyStepEvent, operation);
      plugin.harness->Record(step, kProxyStepSendWait, 1 << 19);
      plugin.harness->Stop(step);
    }
    plugin.harness->Stop(operation);
  }
}
BENCHMARK(BM_ProxyOperation)->Arg(1)->Arg(8);

}  // namespace
}  // namespace eroica::nccl

BENCHMARK_MAIN();

// What an event costs the thread that sees it, by the C ABI of libproducer_core.so with the core
// running (null transport: the emitter drains, encodes and throws away on the other core), what the
// emitter costs, and how many bytes an event takes on the wire.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "producers/core/producer_core.h"

namespace {

class RunningCore {
 public:
  RunningCore() {
    ::setenv("EROICA_NULL", "1", 1);
    ::setenv("EROICA_EXCHANGE", ("/dev/shm/eroica-benchmark-" + std::to_string(::getpid())).c_str(),
             1);
    attached_ = eroica_attach(nullptr);
    for (int i = 0; i < kFunctions; ++i) {
      const std::string name =
          "train.py(" + std::to_string(10 * i) + "): layer_" + std::to_string(i);
      function_[i] = eroica_function(name.c_str(), EROICA_PYTHON, EROICA_WAIT_NONE,
                                     i == 0 ? EROICA_NO_PARENT : function_[i / 2]);
    }
    reduce_ = eroica_function("all_reduce", EROICA_COLLECTIVE, EROICA_WAIT_NONE, EROICA_NO_PARENT);
    lane_ = eroica_lane("training thread", EROICA_TRAINING_THREAD);
    world_ = eroica_communicator(7, "world", "", 8, nullptr);
  }
  static constexpr int kFunctions = 64;
  bool attached_ = false;
  uint32_t function_[kFunctions] = {};
  uint32_t reduce_ = 0;
  uint8_t lane_ = 0;
  uint16_t world_ = 0;
};

RunningCore& Core() {
  static RunningCore core;
  return core;
}

// So that rings do not fill: what is dropped costs less than what is taken.
void LetTheEmitterCatchUp(benchmark::State& state) {
  state.PauseTiming();
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  state.ResumeTiming();
}

template <typename Push>
void Measure(benchmark::State& state, Push push) {
  if (!Core().attached_) return state.SkipWithError(eroica_off_reason());
  EroicaCoreStatistics before{};
  eroica_core_statistics(&before);
  int64_t time_ns = eroica_now_ns();
  uint64_t events = 0;
  for (auto _ : state) {
    push(time_ns += 10'000, events);
    if (++events % 6'000 == 0) LetTheEmitterCatchUp(state);
  }
  EroicaCoreStatistics after{};
  eroica_core_statistics(&after);
  state.counters["lost"] = static_cast<double>(after.events_lost - before.events_lost);
  state.SetItemsProcessed(static_cast<int64_t>(events));
}

void Interval(benchmark::State& state) {
  Measure(state, [](int64_t time_ns, uint64_t i) {
    eroica_interval(time_ns, time_ns + 9'000, Core().function_[i % RunningCore::kFunctions],
                    Core().lane_);
  });
}
BENCHMARK(Interval)->Iterations(300'000);

void IntervalWithTheClockReadTwice(benchmark::State& state) {
  Measure(state, [](int64_t, uint64_t i) {
    const int64_t begin_ns = eroica_now_ns();
    eroica_interval(begin_ns, eroica_now_ns(), Core().function_[i % RunningCore::kFunctions],
                    Core().lane_);
  });
}
BENCHMARK(IntervalWithTheClockReadTwice)->Iterations(300'000);

void CollectiveLaunchedAndEnded(benchmark::State& state) {
  Measure(state, [](int64_t time_ns, uint64_t) {
    const EroicaCollective all_reduce{Core().world_, EROICA_ALL_REDUCE, -1, EROICA_NO_SEQUENCE,
                                      1 << 20};
    const uint64_t ticket = eroica_collective_launched(&all_reduce, time_ns);
    eroica_collective_ended(ticket, time_ns, time_ns + 9'000, Core().reduce_, Core().lane_);
  });
}
BENCHMARK(CollectiveLaunchedAndEnded)->Iterations(300'000);

// The core's own processor time and bytes while a thread pushes 100,000 events a second.
void EmitterAtHundredThousandEventsASecond(benchmark::State& state) {
  if (!Core().attached_) return state.SkipWithError(eroica_off_reason());
  constexpr int kSlices = 400;
  constexpr int kEventsASlice = 500;
  for (auto _ : state) {
    EroicaCoreStatistics before{};
    eroica_core_statistics(&before);
    const auto start = std::chrono::steady_clock::now();
    for (int slice = 0; slice < kSlices; ++slice) {
      const int64_t base_ns = eroica_now_ns();
      uint64_t noise = static_cast<uint64_t>(slice);
      for (int i = 0; i < kEventsASlice; ++i) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        const int64_t start_ns = base_ns + i * 10'000;
        eroica_interval(start_ns, start_ns + 2'000 + static_cast<int64_t>(noise >> 51),
                        Core().function_[i % RunningCore::kFunctions], Core().lane_);
      }
      std::this_thread::sleep_until(start + std::chrono::milliseconds(5) * (slice + 1));
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    EroicaCoreStatistics after{};
    eroica_core_statistics(&after);
    const auto events = static_cast<double>(after.events_sent - before.events_sent);
    state.counters["events_a_second"] = events / seconds;
    state.counters["share_of_a_core"] =
        static_cast<double>(after.emitter_cpu_ns - before.emitter_cpu_ns) / 1e9 / seconds;
    state.counters["encoded_bytes_an_event"] =
        static_cast<double>(after.bytes_sent - before.bytes_sent) / events;
    state.counters["lost"] = static_cast<double>(after.events_lost - before.events_lost);
    state.counters["memory_MiB"] = static_cast<double>(after.memory_bytes) / (1 << 20);
  }
}
BENCHMARK(EmitterAtHundredThousandEventsASecond)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();

// What it costs a thread that its context switches are recorded: round trips over two pipes between
// two threads on one processor, each of which blocks the watched thread once. Argument: 0 without,
// 1 with.
#include <benchmark/benchmark.h>
#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

#include "producers/python/thread_switches.h"

namespace eroica {
namespace {

constexpr int kTripsBetweenLooks = 300;  // the sampler's, at some 10,000 switches a second

void UseOneProcessor() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
}

void Answer(int from, int to) {
  for (char byte = 0; read(from, &byte, 1) == 1;) {
    if (write(to, &byte, 1) != 1) return;
  }
}

void BM_RoundTrip(benchmark::State& state) {
  UseOneProcessor();
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return state.SkipWithError("no pipes");
  std::thread other(Answer, there[0], back[1]);
  std::unique_ptr<ThreadSwitches> switches;
  if (state.range(0) == 1) switches = std::make_unique<ThreadSwitches>(gettid(), 0);
  if (switches && !switches->is_open()) state.SkipWithError("the kernel shows no switches");
  int trips = 0;
  for (auto _ : state) {
    char byte = 1;
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) std::abort();
    if (switches && ++trips % kTripsBetweenLooks == 0) {
      while (switches->Take(INT64_MAX)) {
      }
    }
  }
  close(there[1]);
  other.join();
  for (const int file : {there[0], back[0], back[1]}) close(file);
}
BENCHMARK(BM_RoundTrip)->Arg(0)->Arg(1)->Repetitions(7)->ReportAggregatesOnly();

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();

// What the host sampler costs the process that it lives in: nanoseconds of processor time a tick,
// of 20 ms each, on this machine's own /proc and /sys and with connections of this process,
// averaged over all that falls due in a minute. The counter core_percent is the share of one core
// that it takes. Its budget is 0.2 %.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "producers/core/testing/recorded_core.h"
#include "producers/host/endpoint_exchange.h"
#include "producers/host/host_counters.h"
#include "producers/host/host_sampler.h"
#include "producers/host/training_thread.h"

namespace eroica {
namespace {

constexpr int64_t kTickNs = 20'000'000;
constexpr int64_t kTicksAMinute = 3'000;

// Connections to 127.0.0.2, whose other ends are in a child of this process.
class Connections {
 public:
  explicit Connections(int64_t count) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in in{};
    in.sin_family = AF_INET;
    inet_pton(AF_INET, "127.0.0.2", &in.sin_addr);
    bind(listener, reinterpret_cast<sockaddr*>(&in), sizeof in);
    listen(listener, 128);
    socklen_t length = sizeof in;
    getsockname(listener, reinterpret_cast<sockaddr*>(&in), &length);
    child_ = fork();
    if (child_ == 0) {
      while (accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) >= 0) {
      }
      _exit(0);
    }
    for (int64_t i = 0; i < count; ++i) {
      descriptors_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (connect(descriptors_.back(), reinterpret_cast<sockaddr*>(&in), sizeof in) != 0) break;
    }
    close(listener);
    end_ = "127.0.0.2:" + std::to_string(ntohs(in.sin_port));
  }
  ~Connections() {
    for (const int descriptor : descriptors_) close(descriptor);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  const std::string& end() const { return end_; }

 private:
  pid_t child_ = -1;
  std::vector<int> descriptors_;
  std::string end_;
};

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("eroica_host_benchmark_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Ticks a minute of samples at a time.
template <typename Tick>
void Run(benchmark::State& state, Tick tick) {
  int64_t now_ns = 1'000'000'000'000;
  for (auto _ : state) {
    for (int64_t i = 0; i < kTicksAMinute; ++i) tick(now_ns += kTickNs);
    state.PauseTiming();
    recorded_core::Reset();  // the core in memory keeps all that it takes
    state.ResumeTiming();
  }
  const auto ticks = static_cast<double>(state.iterations() * kTicksAMinute);
  using Counter = benchmark::Counter;
  state.counters["ticks"] = Counter(ticks, Counter::kIsRate);
  state.counters["ns_per_tick"] = Counter(ticks * 1e-9, Counter::kIsRate | Counter::kInvert);
  state.counters["core_percent"] =
      Counter(ticks * kTickNs * 1e-9 / 100, Counter::kIsRate | Counter::kInvert);
}

void BM_TrainingThread(benchmark::State& state) {
  recorded_core::Reset();
  TrainingThread thread({.thread = getpid()});
  Run(state, [&](int64_t now_ns) { thread.Read(now_ns); });
}
BENCHMARK(BM_TrainingThread)->Unit(benchmark::kMillisecond);

// A step, of which there are five a second.
void BM_HostCounters(benchmark::State& state) {
  recorded_core::Reset();
  HostCounters counters("/proc", "/sys");
  Run(state, [&](int64_t now_ns) {
    if (now_ns % 200'000'000 == 0) counters.Step(now_ns);
  });
}
BENCHMARK(BM_HostCounters)->Unit(benchmark::kMillisecond);

// All of it, with that many connections to another rank.
void BM_HostSampler(benchmark::State& state) {
  recorded_core::Reset();
  const Folder folder;
  const Connections connections(state.range(0));
  HostSamplerOptions options;
  options.exchange_folder = folder.path();
  options.world_size = 2;
  HostSampler sampler(std::move(options));
  EndpointExchange peer(
      {.folder = folder.path(), .rank = 1, .world_size = 2, .host = "elsewhere", .process = 1});
  peer.SetEnds({connections.end()}, {});
  peer.Tick(1'000'000'000'000);
  Run(state, [&](int64_t now_ns) { sampler.Tick(now_ns); });
}
BENCHMARK(BM_HostSampler)->Arg(0)->Arg(16)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();

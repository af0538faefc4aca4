#include "producers/host/host_sampler.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "producers/core/producer_core.h"
#include "producers/core/thrown_line.h"
#include "producers/host/competitor_watch.h"
#include "producers/host/connection_watch.h"
#include "producers/host/endpoint_exchange.h"
#include "producers/host/host_counters.h"
#include "producers/host/host_election.h"
#include "producers/host/kept_file.h"
#include "producers/host/kernel_text.h"
#include "producers/host/training_thread.h"
#include "schemas/thread_boundary.h"

namespace eroica {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "host";
  return name.data();
}

// "pid:[4026531836]"; empty where it cannot be read.
std::string NamespaceOf(const std::string& proc_root, const char* kind) {
  std::array<char, 64> name{};
  const ssize_t length =
      readlink((proc_root + "/self/ns/" + kind).c_str(), name.data(), name.size());
  return {name.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

// One network namespace of one kernel. Kernels number their namespaces alike, so that the number of
// the boot stands before it; empty where either cannot be read.
std::string NetworkOf(const std::string& proc_root) {
  std::array<char, 64> text;
  KeptFile file(proc_root + "/sys/kernel/random/boot_id");
  std::string_view read = file.Read(text, 0);
  std::string_view boot;
  TakeLine(&read, &boot);
  const std::string name = NamespaceOf(proc_root, "net");
  return boot.empty() || name.empty() ? std::string() : std::string(boot) + "/" + name;
}

std::string FileNameOf(std::string host) {
  std::ranges::replace(host, '/', '_');
  return host;
}

// How many periods are due: none, or those that have begun since the last time; one at the first
// call. A sixteenth early will do: whoever comes once a period, by another clock, would else be
// sent away every now and then.
struct Due {
  int64_t period_ns = 0;
  std::optional<int64_t> last_ns{};
  int64_t operator()(int64_t now_ns) {
    const bool known = last_ns && now_ns >= *last_ns;
    const int64_t length_ns = known ? now_ns - *last_ns : period_ns;
    const int64_t early_ns = period_ns / 16;
    if (length_ns < period_ns - early_ns) return 0;
    last_ns = now_ns;
    return std::max<int64_t>(1, (length_ns - early_ns + period_ns - 1) / period_ns);
  }
};

uint64_t RealtimeUs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

struct HostSampler::Parts {
  explicit Parts(HostSamplerOptions& o)
      : trainer{.thread = o.training_thread, .number = 0},
        thread({.proc_root = o.proc_root, .thread = o.training_thread}),
        competitors({.proc_root = o.proc_root,
                     .thread = o.training_thread,
                     .own_process = getpid(),
                     .clock_ticks_a_second = std::max(1L, sysconf(_SC_CLK_TCK))}),
        exchange({.folder = o.exchange_folder,
                  .rank = o.rank,
                  .world_size = o.world_size,
                  .host = o.host + "/" + NamespaceOf(o.proc_root, "pid"),
                  .network = NetworkOf(o.proc_root),
                  .process = getpid()}),
        connections({.rank = o.rank}, o.sockets.get(), &exchange),
        election(o.exchange_folder.empty()
                     ? std::string()
                     : o.exchange_folder + "/host-" + FileNameOf(o.host) + ".lock"),
        counters(o.proc_root, o.sys_root),
        options(std::move(o)) {}

  EroicaTrainer trainer;  // whose thread is read
  TrainingThread thread;
  CompetitorWatch competitors;
  EndpointExchange exchange;
  ConnectionWatch connections;
  HostElection election;
  HostCounters counters;
  HostSamplerOptions options;
  Due thread_due{options.thread_period_ns};
  Due pinned_due{5'000'000'000};
  Due host_due{options.host_period_ns};
  Due gpu_due{options.gpu_period_ns};
  bool pinned = false;
  bool spoke = false;  // for the host, at the last reading
  std::unique_ptr<GpuDevice> gpu;
  std::optional<uint64_t> gpu_errors;
};

HostSampler::HostSampler(HostSamplerOptions options) noexcept {
  static std::atomic<bool> said{false};
  // Where there is no memory, nothing is sampled.
  RunAtBoundary([&] { Start(std::move(options)); },
                [this](const Thrown& thrown) {
                  parts_.reset();
                  SayThrownOnce(&said, "the sampler of the host", thrown);
                });
}

void HostSampler::Start(HostSamplerOptions options) {
  if (options.host.empty()) options.host = HostName();
  if (options.processors_of_host == 0)
    options.processors_of_host = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  if (options.sockets == nullptr) options.sockets = OwnSockets(options.proc_root);
  parts_ = std::make_unique<Parts>(options);
}

HostSampler::~HostSampler() = default;

void HostSampler::Tick(int64_t now_ns) noexcept {
  if (parts_ == nullptr || !eroica_enabled()) return;
  static std::atomic<bool> said{false};
  RunAtBoundary([&] { TickParts(now_ns); },
                [this](const Thrown& thrown) {
                  parts_.reset();
                  SayThrownOnce(&said, "the sampler of the host", thrown);
                });
}

void HostSampler::TickParts(int64_t now_ns) {
  Parts& p = *parts_;
  FollowTrainer();
  if (p.thread_due(now_ns) > 0) p.thread.Read(now_ns);
  WatchCompetitors(now_ns);
  if (!p.options.exchange_folder.empty()) {
    p.connections.Tick(now_ns);
    p.exchange.Tick(now_ns);
  }
  if (const int64_t due = p.host_due(now_ns); due > 0) ReadHost(now_ns, due);
  if (p.gpu_due(now_ns) > 0) ReadGpu(now_ns);
}

void HostSampler::FollowTrainer() {
  Parts& p = *parts_;
  if (p.options.training_thread != 0) return;
  if (p.thread.ended()) eroica_trainer_ended(p.trainer.number);
  const EroicaTrainer trainer = eroica_trainer();
  if (trainer.thread == p.trainer.thread && trainer.number == p.trainer.number) return;
  // The main thread stays the same thread when it shows its first sign. A thread with the system id
  // of one that trained before is another thread.
  if (trainer.thread != p.trainer.thread || p.trainer.number != 0) {
    p.thread = TrainingThread({.proc_root = p.options.proc_root, .thread = trainer.thread});
    p.competitors.Follow(trainer.thread);
  }
  p.trainer = trainer;
}

// By the rank that speaks for the host, and by one that has processors of its own to look at: not
// by all ranks of a host, which would look at the same.
void HostSampler::WatchCompetitors(int64_t now_ns) {
  Parts& p = *parts_;
  if (p.pinned_due(now_ns) > 0)
    p.pinned = p.competitors.IsPinned(static_cast<size_t>(p.options.processors_of_host));
  const double wait = p.pinned || p.spoke ? p.thread.wait_share_of_last_second() : 0;
  p.competitors.Tick(now_ns, wait, p.exchange.job_processes());
  p.thread.NameCompetitor(p.competitors.name());
}

void HostSampler::ReadHost(int64_t now_ns, int64_t kinds) {
  Parts& p = *parts_;
  const bool speaks = p.exchange.usable() && p.election.Holds(now_ns);
  if (speaks && !p.spoke) p.counters.Forget();
  p.spoke = speaks;
  for (int64_t i = 0; speaks && i < std::min<int64_t>(kinds, HostCounters::kKinds); ++i)
    p.counters.Step(now_ns);
}

void HostSampler::ReadGpu(int64_t now_ns) {
  Parts& p = *parts_;
  if (auto open = std::exchange(p.options.open_gpu, nullptr)) p.gpu = open();
  if (p.gpu == nullptr) return;
  const GpuReading reading = p.gpu->Read(RealtimeUs());
  const auto share = [&](int resource, double value) {
    eroica_sample(now_ns, resource, static_cast<float>(std::clamp(value, 0.0, 1.0)));
  };
  if (reading.clock_share) share(EROICA_GPU_CLOCK, *reading.clock_share);
  if (reading.throttled) share(EROICA_GPU_THROTTLED, *reading.throttled ? 1 : 0);
  if (reading.others_share) share(EROICA_GPU_OTHERS, *reading.others_share);
  const std::optional<uint64_t> before = std::exchange(p.gpu_errors, reading.memory_errors);
  if (before && reading.memory_errors)
    share(EROICA_GPU_ERRORS, *reading.memory_errors > *before ? 1 : 0);
}

}  // namespace eroica

// What the host knows of a rank: its training thread's processor, its sockets, its GPU, and, by one
// rank a host and job, the host itself. Start reading here; README.md says what is read and how
// often.
//
// Owner: one background thread, which calls Tick every 5 to 500 ms. A tick does what is due, in
// bounds, and reports through the C ABI of producers/core/producer_core.h. It does not throw, print
// or start a thread; where a source is missing (a container without /sys, processes that are
// hidden, no GPU) the rest goes on, and after an error that it does not expect it does nothing
// more.
// Times: eroica_now_ns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "producers/host/gpu_device.h"
#include "producers/host/socket_table.h"

namespace eroica {

struct HostSamplerOptions {
  std::string proc_root = "/proc";
  std::string sys_root = "/sys";
  int training_thread = 0;  // as gettid() says; 0: the one that trains (eroica_trainer)
  uint32_t rank = 0;
  uint32_t world_size = 1;
  std::string host;  // empty: as the system calls itself
  // that the ranks of the job share, on all hosts where they can; empty: no connections and no
  // counters of the host
  std::string exchange_folder;
  int processors_of_host = 0;  // 0: as many as are online
  int64_t thread_period_ns = 40'000'000;
  int64_t host_period_ns = 200'000'000;  // of one of five kinds of counters; then the next
  int64_t gpu_period_ns = 1'000'000'000;
  // Null: none, as on a rank without a GPU. Called once, by the first tick that looks at the
  // device.
  std::function<std::unique_ptr<GpuDevice>()> open_gpu;
  // Null: those of this process.
  std::unique_ptr<SocketTable> sockets;
};

class HostSampler {
 public:
  explicit HostSampler(HostSamplerOptions options) noexcept;
  ~HostSampler();
  HostSampler(const HostSampler&) = delete;
  HostSampler& operator=(const HostSampler&) = delete;

  void Tick(int64_t now_ns) noexcept;

 private:
  struct Parts;
  void Start(HostSamplerOptions options);
  void TickParts(int64_t now_ns);
  void FollowTrainer();
  void WatchCompetitors(int64_t now_ns);
  // So many kinds of counters.
  void ReadHost(int64_t now_ns, int64_t kinds);
  void ReadGpu(int64_t now_ns);

  std::unique_ptr<Parts> parts_;  // null: switched off
};

}  // namespace eroica

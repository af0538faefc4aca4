// Watches the processes of the ranks of a job on this host, on a thread of its own, and sends for
// the one that made the job fail where it stood and how it ended: a RankStanding with an end, as a
// record of the events topic, from where every diagnosis of the job reads it.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "ops/launch/first_end.h"
#include "ops/launch/rank_processes.h"
#include "schemas/boundary_thread.h"
#include "schemas/ids.h"
#include "stream_ops/log/log.h"

namespace eroica {

struct EndWatchOptions {
  std::string exchange_folder;
  std::string topic_prefix;
  JobId job;
  // Of the events topic: a recording has one writing process a partition. Nothing: the key decides.
  std::optional<int32_t> partition;
};

// Owner: one thread. log outlives it.
class EndWatch {
 public:
  EndWatch(Log& log, EndWatchOptions options);
  ~EndWatch();
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;

  // The launcher has ended: sends what follows from that. Once. How many ends were sent in all.
  uint64_t Finish(const JobEnd& end);
  // Processes of ranks that it has come to know. Any thread.
  uint64_t processes_seen() const { return processes_seen_.load(std::memory_order_relaxed); }
  // Of what could not be sent; ask after Finish.
  const absl::Status& status() const { return status_; }

 private:
  void Stop();
  void Watch(const std::stop_token& stop);
  void Look(std::chrono::milliseconds timeout);
  void Send(const EndedRank& ended);

  Log& log_;
  const EndWatchOptions options_;
  RankProcesses processes_;  // of the thread until it has ended, as all below
  FirstEnd first_;
  std::atomic<uint64_t> processes_seen_{0};
  uint64_t sent_ = 0;
  absl::Status status_;
  BoundaryThread thread_;
};

// What is sent of it: its last note, or as much as is known without one.
RankStanding StandingOf(const EndedRank& ended, const JobId& job);

}  // namespace eroica

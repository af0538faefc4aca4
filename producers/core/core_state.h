// What the threads of the host process and the emitter share. Everything in it may be used by any
// thread at any time; what is hot neither locks nor allocates. Made once a process, never
// destroyed: a thread may be in the middle of an event when the process ends.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "producers/core/core_clock.h"
#include "producers/core/flight_table.h"
#include "producers/core/loss_counts.h"
#include "producers/core/name_tables.h"
#include "producers/core/ring_pool.h"
#include "producers/core/trainer.h"
#include "producers/core/watch_list.h"
#include "schemas/function.h"

namespace eroica {

struct CoreState {
  explicit CoreState(std::unique_ptr<RingPool> pool)
      : rings(std::move(pool)), trainer(::getpid()) {}

  const CoreClock clock;
  NameTables names;
  const std::unique_ptr<RingPool> rings;
  FlightTable flights;
  LossCounts losses;
  WatchList watches;
  Trainer trainer;
  std::atomic<int> level{2};  // that the gate before the rings lets through
  std::atomic<bool> full_trace{false};
  std::atomic<uint32_t> training_function{kNoParent};
  std::atomic<bool> processor_waits_reported{false};
  std::atomic<int64_t> own_steps{0};  // that the script has counted
  std::atomic<int32_t> device{-1};
  std::atomic<int64_t> rank{-1};
  std::atomic<int64_t> world_size{-1};
  std::atomic<bool> has_device_events{false};

  // What the emitter has done, for whoever asks.
  std::atomic<uint64_t> events_taken{0};
  std::atomic<uint64_t> events_sent{0};
  std::atomic<uint64_t> batches_sent{0};
  std::atomic<uint64_t> bytes_sent{0};
  std::atomic<uint64_t> emitter_cpu_ns{0};
  std::atomic<uint64_t> memory_bytes{0};
};

}  // namespace eroica

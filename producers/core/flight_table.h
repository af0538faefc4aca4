// The collectives of this process that were launched and have not ended, and how many of each kind
// were: what a progress report says of a rank that stands still. Lock-free and of fixed size; any
// thread launches, any thread ends, the emitter reads meanwhile.
//
// A ticket names a slot and its generation, so that one that ended long ago, or was never given, is
// recognized and does no harm.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "schemas/event_batch.h"

namespace eroica {

class FlightTable {
 public:
  static constexpr size_t kSlots = 1'024;
  static constexpr size_t kCounters = 4'096;      // a power of two
  static constexpr uint64_t kCount = UINT64_MAX;  // as a sequence: the table counts

  struct Launched {
    uint64_t ticket = 0;    // 0: there was no room
    uint64_t sequence = 0;  // that it has
  };
  // in_flight.sequence may be kCount; without room for its counter the operation is not taken.
  Launched Launch(InFlightCollective in_flight);
  // False: no such ticket is in flight.
  bool Start(uint64_t ticket);
  // Takes it out. Nothing: no such ticket is in flight.
  std::optional<InFlightCollective> End(uint64_t ticket);

  // Emitter's thread. As a progress report wants them, sorted; what is launched meanwhile may be
  // missing.
  std::vector<InFlightCollective> InFlight() const;
  std::vector<OperationCount> Operations(const std::vector<InFlightCollective>& in_flight) const;
  // Grows with every launch and every end.
  uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }

 private:
  enum Phase : uint64_t { kFree = 0, kTaken = 1, kWaiting = 2, kRunning = 3 };
  struct Slot {
    std::atomic<uint64_t> state{0};  // generation << 2 | phase
    std::atomic<uint64_t> sequence{0};
    std::atomic<uint64_t> bytes{0};
    std::atomic<int64_t> launched_ns{0};
    std::atomic<uint64_t> key{0};  // communicator, operation, peer
  };
  struct Counter {
    std::atomic<uint64_t> key{0};  // 0: free, else the operation's key + 1
    std::atomic<uint64_t> launched{0};
  };

  static uint64_t KeyOf(const InFlightCollective& row);
  static void Unpack(uint64_t key, uint16_t* communicator, CollectiveOperation* operation,
                     int32_t* peer);
  Counter* CounterOf(uint64_t key);
  static InFlightCollective Read(const Slot& slot, uint64_t phase);

  std::array<Slot, kSlots> slots_;
  std::array<Counter, kCounters> counters_;
  std::atomic<uint32_t> next_{0};  // where the search for a free slot begins
  std::atomic<uint64_t> changes_{0};
};

}  // namespace eroica

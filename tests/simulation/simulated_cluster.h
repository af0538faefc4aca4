// Nodes that run the three stages of the real topology on a log, a clock and stores in memory, with
// faults that a seed chooses. Deterministic, in one thread: a seed that fails can be run alone.
//
// Each stage has one owner at a time. It loses its work to another node, in good order, by a crash
// between any two steps, or because it is paused for longer than its session and wakes up as a
// zombie; the next owner has its own store, the same one, one of long ago, or an empty one. The log
// is away, slow, full, or loses what was handed over; a write of the store fails.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/stream_thread.h"
#include "stream_ops/runtime/testing/faulty_log.h"
#include "stream_ops/runtime/topology.h"

namespace eroica::testing {

class SimulatedCluster {
 public:
  static constexpr size_t kNodes = 3;

  // log: with the topics of the default prefix and the changelogs. Outlives the cluster.
  SimulatedCluster(MemoryLog& log, Topology topology, bool exactly_once, uint64_t seed);

  // One step of a stage, and perhaps a fault.
  void Step();
  // Without faults from now on, until all stages have processed and committed all of their input.
  // False: they do not come to that.
  bool Settle();
  // What happened, for a seed that failed.
  const std::vector<std::string>& events() const { return events_; }
  // Of the owners: what they received is what they processed and ignored.
  bool BooksClosed() const;

 private:
  // A write may fail once.
  class Store final : public InMemoryStore {
   public:
    absl::Status Write(const StateChanges& changes) override;
    bool fails = false;
  };
  // One stage on one node. Its log has the node's faults.
  struct Member {
    size_t node = 0;
    std::unique_ptr<FaultyLog> log;
    std::unique_ptr<StreamThread> thread;
  };
  struct OwnedStage {
    Member owner;
    std::vector<Member> zombies;
  };

  void Begin(size_t stage, size_t node);
  void Run(size_t stage);
  void Fault(size_t stage);
  void Move(size_t stage);
  void WakeZombie(size_t stage);
  uint64_t Choose(uint64_t below) { return random_() % below; }

  MemoryLog& log_;
  const Topology topology_;
  const bool exactly_once_;
  std::mt19937_64 random_;
  TimePoint now_{std::chrono::hours(1)};
  std::vector<std::vector<std::unique_ptr<Store>>> stores_;  // by stage and node
  std::vector<OwnedStage> stages_;
  std::vector<std::string> events_;
};

}  // namespace eroica::testing

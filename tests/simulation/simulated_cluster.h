// Nodes that run the three stages of the real topology on a log, a clock and stores in memory, with
// faults that a seed chooses. Deterministic, in one thread: a seed that fails can be run alone.
//
// Every node is a member of every stage's group, with one thread or two, and all of its threads
// share its store, as in the program. A node is stopped in good order or crashes between any two
// steps, alone or with its power or its disk; it comes back soon or after its session, with its
// store, with a copy of long ago, or with an empty one. It is paused for longer than its session,
// between two steps or in the middle of one, and wakes up as a zombie beside those who have its
// partitions now. The faults of its connection
// are those of SimulatedLog.
//
// Where memory is short at times, tasks that are ahead let go of what they hold, or wait, and read
// it again (reading_order.h).
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/stream_thread.h"
#include "stream_ops/runtime/topology.h"
#include "tests/simulation/group_coordinator.h"
#include "tests/simulation/simulated_log.h"
#include "tests/simulation/simulated_store.h"

namespace eroica::testing {

class SimulatedCluster {
 public:
  static constexpr size_t kNodes = 3;

  // log: with the topics of the default prefix and the changelogs. Outlives the cluster. topology:
  // its stages have pools of memory.
  SimulatedCluster(MemoryLog& log, Topology topology, bool exactly_once, bool short_of_memory,
                   uint64_t seed);
  ~SimulatedCluster();

  // One step of a thread, and perhaps a fault.
  void Step();
  // Without faults from now on, until all stages have processed and committed all of their input.
  // False: they do not come to that.
  bool Settle();
  // What happened, for a seed that failed.
  const std::vector<std::string>& events() const { return events_; }
  // Stops every node in good order, then closes the books of every thread that ever ran and of
  // every stage. What does not add up, or nothing. Last.
  std::string CloseBooks();
  // Of threads that are gone: after CloseBooks all.
  uint64_t Unloads() const;

 private:
  // One thread of a stage.
  struct Worker {
    size_t stage = 0;
    std::unique_ptr<SimulatedLog> log;
    std::unique_ptr<StreamThread> thread;
  };
  struct Node {
    SimulatedStore store;
    std::vector<Worker> workers;  // none: it is down
    TimePoint away_until;         // down or paused
    bool in_step = false;         // paused in the middle of one
  };

  void Start(size_t node);
  StreamThreadOptions Options(size_t node, size_t stage, uint64_t number);
  void StopNode(size_t node, bool in_good_order);
  void CloseThread(Worker* worker);
  void Run(size_t node, Worker* worker);
  void CheckBooks(const Worker& worker);
  std::string CheckLedgers() const;
  std::string CheckTopics() const;
  void FaultOfConnection(size_t node);
  void FaultOfNode(size_t node);
  void FaultOfDisk(size_t node);
  bool CaughtUp();
  bool AllCommitted(const Stage& stage);
  void Pass();
  void PauseInStep(size_t node);
  // What others hold of each stage's memory.
  void FillMemory(double share);
  void Note(size_t node, std::string what);
  uint64_t Choose(uint64_t below) { return random_() % below; }

  MemoryLog& log_;
  const Topology topology_;
  const bool exactly_once_;
  const bool short_of_memory_;
  std::mt19937_64 random_;
  const bool static_members_;
  const uint64_t threads_per_stage_;
  TimePoint now_{std::chrono::hours(1)};
  GroupCoordinator groups_;
  std::vector<MemoryUse> others_;   // by stage
  std::vector<Ledger> ledgers_;     // by stage
  std::vector<StageProbe> probes_;  // by stage: of the threads that are gone
  std::vector<Node> nodes_;
  std::vector<std::string> events_;
  bool settling_ = false;
  std::string books_;  // the first thread's that do not add up
};

}  // namespace eroica::testing

// The log as one member of a simulated cluster sees it: a MemoryLog behind a connection that fails,
// a client's queue that is lost with its process, and the group protocol of GroupCoordinator.
//
// A queue that is lost may have been written in part, of each partition its first records, as
// requests that were on their way when the client went. A commit of a transaction may be unheard
// of: it took place, or did not, and is asked for again.
//
// Owner: one member, one thread. Consumers and producers must not outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "stream_ops/log/memory_log.h"
#include "tests/simulation/group_coordinator.h"

namespace eroica::testing {

// What the members of one stage have handed over, and what became of it.
struct Ledger {
  struct Account {
    uint64_t handed_over = 0;
    uint64_t written = 0;
    uint64_t lost = 0;
  };
  std::map<std::string, Account> topics;
};

class SimulatedLog final : public Log {
 public:
  // All must outlive this.
  SimulatedLog(MemoryLog& log, GroupCoordinator& groups, Ledger& ledger, uint64_t seed);

  // Each answers so many calls with an error, then works again.
  int polls_unavailable = 0;
  int appends_refused = 0;    // kResourceExhausted; nothing was taken
  int appends_lost = 0;       // kUnavailable; the queue is lost
  int flushes_timed_out = 0;  // kDeadlineExceeded; nothing was lost
  int flushes_lost = 0;       // kUnavailable; the queue is lost
  int commits_timed_out = 0;  // of transactions: kDeadlineExceeded; not committed yet
  int commits_unheard = 0;    // kDeadlineExceeded; it took place
  int commits_void = 0;       // kAborted
  int polls_delayed = 0;      // answer records of some partitions only
  int seeks_unavailable = 0;
  int calls_to_pause =
      0;  // at the last of so many calls on_pause is called, in the middle of a step
  std::function<void()> on_pause;
  bool crashed = false;  // the process is gone: nobody leaves a group any more

  absl::StatusOr<std::unique_ptr<LogConsumer>> NewConsumer(const ConsumerOptions& options) override;
  absl::StatusOr<std::unique_ptr<LogProducer>> NewProducer() override;
  absl::StatusOr<std::unique_ptr<LogProducer>> NewTransactionalProducer(
      const std::string& transactional_id) override;
  LogAdmin& admin() override { return log_.admin(); }

 private:
  class Consumer;
  class Producer;
  class TransactionalProducer;

  void Called();
  uint64_t Choose(uint64_t below) { return random_() % below; }
  int32_t PartitionCount(const std::string& topic);

  MemoryLog& log_;
  GroupCoordinator& groups_;
  Ledger& ledger_;
  std::mt19937_64 random_;
};

}  // namespace eroica::testing

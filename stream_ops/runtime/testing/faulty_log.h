// A log that fails where a test wants it to: a real log behind switches. Also where a test plays
// the group protocol: what is scripted runs at the next poll, before the records are read, as a
// broker's rebalance would. Single-threaded.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stream_ops/log/log.h"

namespace eroica::testing {

class FaultyLog : public Log {
 public:
  // inner must outlive this.
  explicit FaultyLog(Log& inner) : inner_(inner) {}

  // Each answers so many calls with an error, then works again.
  int polls_unavailable = 0;
  int appends_refused = 0;    // kResourceExhausted; nothing was taken
  int appends_lost = 0;       // kUnavailable; what was appended since the last flush is gone
  int flushes_timed_out = 0;  // kDeadlineExceeded; nothing was lost
  int flushes_lost = 0;       // kUnavailable; what was appended since the last flush is gone
  int consumers_unavailable = 0;
  int memberships_in_doubt = 0;  // kUnavailable
  int seeks_unavailable = 0;
  absl::Status poll_error;   // while not ok: of every poll
  int consumers_silent = 0;  // so many that are opened next never answer a record, nor an error
  // Appends of larger records are refused; said by the producer, unless it does not know.
  size_t record_bytes_max = std::numeric_limits<size_t>::max();
  bool limit_known = true;
  // Records whose value holds this text are taken and refused for good at the flush, as a broker
  // does; empty: none.
  std::string refused_at_flush;
  // Ranges whose records no consumer gets, and which TakeDamaged names once the consumer is there.
  std::vector<DamagedRange> damaged;
  // Runs at the next poll with the consumer's listener.
  std::deque<std::function<void(RebalanceListener&, std::vector<ConsumerRecord>*)>> at_next_poll;
  // Counted.
  int flushes = 0;
  int polls = 0;

  absl::StatusOr<std::unique_ptr<LogConsumer>> NewConsumer(const ConsumerOptions& options) override;
  absl::StatusOr<std::unique_ptr<LogProducer>> NewProducer() override;
  // Without the producer's switches.
  absl::StatusOr<std::unique_ptr<LogProducer>> NewTransactionalProducer(
      const std::string& transactional_id) override {
    return inner_.NewTransactionalProducer(transactional_id);
  }
  LogAdmin& admin() override { return inner_.admin(); }

 private:
  class Consumer;
  class Producer;

  Log& inner_;
};

}  // namespace eroica::testing

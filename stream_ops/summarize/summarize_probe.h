// What summarize has seen, in plain counters. An event is an interval. At any time
//   events_received = events_used + events_late + events_outside + events_duplicate +
//   events_replayed + those in open windows.
// Owner: the task's thread.
#pragma once

#include <cstdint>

namespace eroica {

struct SummarizeProbe {
  uint64_t batches_received = 0;  // that could be decoded
  uint64_t batches_bad = 0;       // to the dead-letter topic
  uint64_t batches_duplicate = 0;
  uint64_t batches_forwarded = 0;  // records that a producer had summarized itself
  uint64_t events_received = 0;
  uint64_t events_used = 0;
  uint64_t events_late = 0;       // DropReason::kLate
  uint64_t events_outside = 0;    // DropReason::kOutsideWindow
  uint64_t events_duplicate = 0;  // DropReason::kDuplicate
  // read again after a restart, for windows that were closed before it
  uint64_t events_replayed = 0;
  // reported lost by producers, or missing from their sequences (by their batches' mean size);
  // never received
  uint64_t events_lost = 0;
  uint64_t windows_closed = 0;
  uint64_t windows_silent = 0;
  uint64_t ranks_cut = 0;  // whose windows were closed for want of memory, each time
  // What had no room in what goes on, each time:
  uint64_t collectives_left_out = 0;    // of one window and communicator, or of too many of those
  uint64_t predecessors_left_out = 0;   // what ran before a collective that went on without it
  uint64_t communicators_left_out = 0;  // of a job or a rank, each time that a batch names them
  uint64_t steps_left_out = 0;          // of one window
  uint64_t connections_left_out = 0;    // of one window
  uint64_t operations_left_out = 0;     // of one standing
  uint64_t lists_left_out = 0;          // of members, of one standing
  uint64_t reports_received = 0;        // of progress
  uint64_t reports_left_out = 0;        // late, or within a second of the one before
  uint64_t standings_sent = 0;
  // of any kind, that broke the rules of its type (ProcessorContext::DropOutput)
  uint64_t outputs_dropped = 0;
  uint64_t jobs_forgotten = 0;  // that were over (job_ages.h)
};

}  // namespace eroica

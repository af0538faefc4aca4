// What align counts. The books close at any time:
//   batches_received = batches_malformed + batches_late + batches_duplicate + batches_closed + open
//   batches rows_received + rows_restored = rows_dropped + rows.aligned + rows.incomplete +
//   rows.unobserved + rows.duplicate + pending rows
#pragma once

#include <cstdint>

#include "stream_ops/align/row_counts.h"
#include "stream_ops/align/summary_limits.h"

namespace eroica {

struct AlignProbe {
  uint64_t batches_received = 0;
  uint64_t batches_malformed = 0;  // to the dead-letter topic
  uint64_t batches_late = 0;       // their window was closed, or they came again after a restart
  uint64_t batches_duplicate = 0;
  uint64_t batches_closed = 0;  // their window became a summary
  uint64_t rows_received = 0;
  uint64_t rows_restored = 0;  // carried over a restart
  // in late and duplicate batches, and to be carried on in what the store cannot hold
  uint64_t rows_dropped = 0;
  RowCounts rows;  // carried ones come again and are then counted as something else
  uint64_t windows_complete = 0;
  uint64_t windows_idle = 0;     // closed because nothing came any more
  uint64_t windows_overrun = 0;  // closed because too much was open
  uint64_t summaries_sent = 0;
  uint64_t summaries_dropped = 0;  // broke the rules of their type (ProcessorContext::DropOutput)
  uint64_t jobs_forgotten = 0;     // that were over (job_ages.h)
  SummaryCuts cuts;                // of summaries that went on without
};

}  // namespace eroica

// Whether the trace of a rank ends while it waits in a collective, and what is reported then: a
// capture that ends in a standstill of the job (EROICA's blocked rule, METHODS 1.4: what lasts much
// longer than the job's own pace). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "producers/import/rank_trace.h"
#include "schemas/event_batch.h"

namespace eroica {

// Of one rank in one group. calls: all of the rank in the group, by order of the program.
struct CallsAtEnd {
  std::vector<CollectiveCall*> ended;
  std::vector<CollectiveCall*> standing;  // behind these; first the one that it waits in
  // the wait in it lasts to the trace's end: for ten times as long as the median of those that
  // ended, five median steps, twice the longest of both, and half a second
  bool endless = false;
};
CallsAtEnd SplitAtEnd(const RankTrace& trace, const std::vector<CollectiveCall*>& calls);

// What the rank waits in (RankTrace::standing), and how many of each operation it has behind it.
// Communicators: indices into RankTrace::communicators. At the time of the trace's end.
ProgressReport StandingReport(const RankTrace& trace);

// When the last matched collective of the rank ended, relative to the base time; 0 where none did.
int64_t LastProgress(const RankTrace& trace);

// Whether what lasts so long is what the rank is in at the trace's end: it takes up half of the
// time since the last progress, half a second at least, and ends about where the trace does
// (profilers write what is open a little before or behind their own last event).
bool IsAtEnd(const RankTrace& trace, int64_t last_progress_ns, int64_t start_ns,
             int64_t duration_ns);

}  // namespace eroica

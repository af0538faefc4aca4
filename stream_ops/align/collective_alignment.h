// One communicator, one window: the members' batches become a CollectiveSummary. Pure: the same
// batches give the same summary, in whatever order they came. See group_alignment.h for what is
// counted of collectives, pair_alignment.h for point to point.
//
// Windows of time end by each rank's own clock, so the rows of one operation may lie in neighboring
// windows. What finds no counterpart is carried over to the next window of the communicator, once;
// what finds none there either is incomplete.
#pragma once

#include <span>
#include <vector>

#include "schemas/collective_batch.h"
#include "schemas/collective_summary.h"
#include "stream_ops/align/group_alignment.h"
#include "stream_ops/align/member_rows.h"
#include "stream_ops/align/pair_alignment.h"
#include "stream_ops/align/row_counts.h"
#include "stream_ops/align/summary_limits.h"

namespace eroica {

struct AlignmentInput {
  Window window;  // that of the summary
  // at most one a rank, ascending by rank; not both empty
  std::span<const CollectiveBatch> batches;
  std::span<const CollectiveBatch> carried;  // from the window before, likewise
  std::vector<RankId> missing;               // members that reported nothing, ascending
  bool settle = false;                       // no window follows: nothing is carried on
};

struct Alignment {
  CollectiveSummary summary;
  std::vector<CollectiveBatch> carried;  // rows for the next window, ascending by rank
  RowCounts rows;
  SummaryCuts cuts;  // what the summary has no room for
};

// Keeps its memory from window to window. Owner: one processor.
class CollectiveAligner {
 public:
  Alignment Align(AlignmentInput input);

 private:
  GroupAlignment groups_;
  PairAlignment pairs_;
  std::vector<RowFate> fates_;
};

}  // namespace eroica

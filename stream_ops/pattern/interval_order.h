// The order in which a sweep wants intervals, whatever the order in which they arrived: by start;
// of those that start together the longer first, so that callers come before what they call; then
// by depth of the call stack and by function.
#pragma once

#include <span>
#include <vector>

#include "stream_ops/pattern/interval.h"

namespace eroica {

class IntervalSorter {
 public:
  // Costs one comparison an interval where they are sorted already, which is the rule; else a
  // natural merge sort that touches only the overlapping parts of neighboring runs. Memory is kept
  // for the next call.
  void Sort(std::span<const FunctionTraits> functions, std::vector<Interval>& intervals);

 private:
  void MergeRuns(std::span<const FunctionTraits> functions, std::vector<Interval>& intervals);

  std::vector<size_t> bounds_;  // of the runs: run i is [bounds_[i], bounds_[i + 1])
  std::vector<Interval> left_;  // the tail of the left run while it is merged
};

}  // namespace eroica

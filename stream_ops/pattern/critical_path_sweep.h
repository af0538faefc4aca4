// The critical-path sweep: from the intervals of one rank in one window to one account a function
// (EROICA, NSDI'26, sections 4.1 and 4.2).
//
// At any moment the most important class that runs holds the critical path (schemas/function.h).
// All kernels, memory operations and collectives that run then are on it, each function once; of
// host functions only the leaf: on each lane the one that started last among those still running.
// Python frames count on training threads only, CPU operators on every lane.
//
// An asynchronous operation (LaneKind::kAsynchronous) is not on the critical path: the rank runs
// on. Where a host function that waits for peers is on it meanwhile, the operation is exposed.
//
// Two passes over intervals sorted by start, no heap and no list of ends: the first builds the
// critical clocks, the second reads each interval's clock at its start and end and lets host
// functions take their time from their callers on a stack a lane and class. The stack stays ordered
// by end, because a function that would end before one that started later can never be the leaf
// again; so intervals may cross as they like.
// Owner: one thread. Memory is kept between runs; a run allocates nothing once it has seen its
// like.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/pattern_batch.h"
#include "stream_ops/pattern/collective_gaps.h"
#include "stream_ops/pattern/critical_clock.h"
#include "stream_ops/pattern/function_totals.h"
#include "stream_ops/pattern/interval.h"
#include "stream_ops/pattern/octave_histograms.h"
#include "stream_ops/pattern/peer_wait.h"
#include "stream_ops/pattern/step_activity.h"

namespace eroica {

struct SweepInput {
  // in the order of IntervalSorter; what reaches out of the window is cut off
  std::span<const Interval> intervals;
  std::span<const FunctionTraits> functions;
  std::span<const LaneKind> lanes;
  std::span<const StepSpan> steps = {};  // ascending, disjoint; may be empty
  int64_t start_ns = 0;  // the window, [start, end), not longer than kLongestWindowNs
  int64_t end_ns = 0;
  bool host_only = false;
};

class CriticalPathSweep {
 public:
  void Run(const SweepInput& input);

  // Of the last run. The functions that ran, in the order in which they first started.
  const std::vector<uint32_t>& functions() const { return functions_; }
  const FunctionTotals& totals(uint32_t function) const { return totals_[function]; }
  // Training steps in which it was on the critical path.
  uint32_t active_steps(uint32_t function) const { return activity_.Of(function); }
  void ReadHistogram(uint32_t function, DurationHistogram* out) const {
    histograms_.Read(function, out);
  }
  const std::vector<StepRecord>& steps() const { return steps_; }
  const std::vector<CollectiveExposure>& collectives() const { return gaps_.collectives(); }

 private:
  // A host function that runs and may become the leaf (again).
  struct Frame {
    int64_t end_ns;
    int64_t clock_at_end;
    int64_t leaf_since_ns;  // from here on, unless something else starts first
    int64_t clock_at_leaf;
    uint32_t function;
  };
  using Stack = std::vector<Frame>;  // ends strictly decrease towards the top
  // What the inner loops must know of a function, in a byte or two: traits of a thousand functions
  // would not stay in the first-level cache.
  struct Rule {
    int8_t priority = 0;
    FunctionClass function_class = FunctionClass::kCpuOp;
    bool waits_for_peers = false;  // host functions only
  };

  void Reset(const SweepInput& input);
  void SetRules(const SweepInput& input);
  void BuildClocks(const SweepInput& input);
  void Account(const SweepInput& input);
  void StartHostFunction(Stack& stack, const Frame& frame);
  void FlushStacks();
  void AddLeaf(uint32_t function, int64_t begin_ns, int64_t end_ns, int64_t critical_ns);
  void ExposeAsynchronous();
  // Python counts on training threads only.
  static bool Counts(const SweepInput& input, const Rule& rule, const Interval& interval) {
    return rule.function_class != FunctionClass::kPython ||
           input.lanes[interval.lane] == LaneKind::kTrainingThread;
  }

  CriticalClocks clocks_;
  StepActivity activity_;
  PeerWait peer_wait_;
  CollectiveGaps gaps_;
  OctaveHistograms histograms_;
  std::vector<Rule> rules_;             // by function
  std::vector<FunctionTotals> totals_;  // by function
  std::vector<uint32_t> functions_;
  std::vector<Stack> stacks_;  // two a lane: Python, CPU operators
  std::vector<StepRecord> steps_;
  struct Asynchronous {
    TimeSpan part;
    size_t collective;  // its place among those of gaps_
  };
  std::vector<Asynchronous> asynchronous_;
};

}  // namespace eroica
